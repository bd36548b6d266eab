package ui

// MemoryLegend says what the parts of a MemoryBar are.
func MemoryLegend(ascii bool) string {
	if ascii {
		return "# used  - claimed  / not pasar's"
	}
	return "█ used  ░ claimed  ▒ not pasar's"
}
