package jobproto

import _ "embed"

//go:embed python/pasar_job.py
var pythonModule string

// PythonFile is the name under which a program imports the module: import pasar_job.
const PythonFile = "pasar_job.py"

// PythonModule is the source of the helper module for programs in Python 3.8 and later. It has no
// dependencies and may be copied next to any script.
func PythonModule() string { return pythonModule }
