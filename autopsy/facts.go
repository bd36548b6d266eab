package autopsy

import "pasar"

// A rank says how much a line of a reason tells, beside others of the same episode: the least wins, and of
// equals the earliest.
type rank int

const (
	ofResource    rank = iota // a named resource or device
	ofSurrounding             // environment, files, remote services
	ofNumbers                 // it stopped on purpose
	ofProgram                 // its own error, or how it was ended
	ofPeers                   // others that it worked with were gone
	ofNothing                 // it fails, and says nothing
	ofWarning                 // it was only warned of: something vague may be explained by it
	ofNoMatter                // the interpreter itself passed over it
)

// facts of a reason: what holds for each rule that gives it and says nothing else.
type facts struct {
	rank      rank
	says      string
	hint      string
	blame     pasar.Blame
	retryable *bool
}

var factsOf = map[pasar.Code]facts{
	pasar.CodeGPUOOM: {ofResource, "GPU memory ran out",
		"let it need less (a smaller batch, shorter sequences, activation checkpointing, another dtype), or claim more of a GPU with --mem or --gpus; `pasar gpus` says who else has memory there",
		pasar.BlameJob, nil},
	pasar.CodeHostOOM: {ofResource, "host memory ran out",
		"let it load less at once (map files, stream, fewer workers); `ulimit -v` in the job says whether a limit of its shell is in the way; with --ram it starts when what it needs is free",
		pasar.BlameJob, nil},
	pasar.CodeKernelOOM: {ofResource, "killed because host memory ran out",
		"let it use less (fewer worker processes, less read ahead), or ask whoever set the limit for more; with --ram it starts when that is free",
		pasar.BlameJob, nil},
	pasar.CodeShmFull: {ofResource, "shared memory (/dev/shm) ran out",
		"look at `df /dev/shm`; use fewer or no worker processes, or a larger /dev/shm (containers: --shm-size)",
		pasar.BlameEnvironment, nil},
	pasar.CodeGPUXid: {ofResource, "a fault of the GPU",
		"the fault is the machine's, not the program's; `pasar gpus` says what the GPU needs, `pasar restart` starts the job on another",
		pasar.BlameMachine, &yes},
	pasar.CodeDeviceAssert: {ofResource, "an assertion failed on the GPU",
		"an index, a label or a probability is out of its range: check labels against the number of classes and token ids against the vocabulary; CUDA_LAUNCH_BLOCKING=1, or the CPU, shows where",
		pasar.BlameJob, nil},
	pasar.CodeCUDAError: {ofResource, "a GPU operation failed",
		"CUDA_LAUNCH_BLOCKING=1 shows which call it was, `compute-sanitizer` which kernel and address",
		pasar.BlameJob, nil},
	pasar.CodeGPUSetup: {ofResource, "the GPU can't be used as it is set up",
		"compare what `nvidia-smi` and the program's build want: driver, CUDA version, architecture, visible devices",
		pasar.BlameEnvironment, nil},
	pasar.CodeCommError: {ofPeers, "communication between its processes failed",
		"look for the rank that went first or hung, in its own log; NCCL_DEBUG=INFO says more of the network",
		pasar.BlameJob, &yes},
	pasar.CodeDiskFull: {ofResource, "a disk is full",
		"make room there (`df -h`, `df -i`, `quota`), or write elsewhere",
		pasar.BlameEnvironment, nil},
	pasar.CodeIOError: {ofResource, "storage failed",
		"the disk, the mount or its server has a fault: see `dmesg` and `mount`; tell whoever keeps the machine",
		pasar.BlameMachine, &yes},
	pasar.CodeSysLimit: {ofResource, "a limit of the operating system was reached",
		"`ulimit -a` in the job shows its limits; open fewer files or start fewer threads and workers, or raise the limit",
		pasar.BlameEnvironment, nil},
	pasar.CodePortInUse: {ofResource, "a port is taken",
		"another program listens there (`ss -ltnp`): take another port, or 0 for any that is free",
		pasar.BlameEnvironment, &yes},
	pasar.CodeTimeLimit: {ofResource, "ended by a time limit",
		"raise the limit that the command was given, or let the program go on from a checkpoint",
		pasar.BlameJob, nil},
	pasar.CodePermission: {ofSurrounding, "access was refused",
		"look at who owns it and what its mode is (`ls -ld`), as the user that the job runs as",
		pasar.BlameUser, nil},
	pasar.CodeFileMissing: {ofSurrounding, "a file or directory is missing",
		"is it there on this machine (`ls -ld`), its disk mounted, and the path right? A relative one counts from the job's working directory",
		pasar.BlameUser, &no},
	pasar.CodeEnvError: {ofSurrounding, "the software environment is wrong",
		"is the environment that the job needs activated in its command, with that package and version?",
		pasar.BlameEnvironment, &no},
	pasar.CodeBadCommand: {ofSurrounding, "the command line is wrong",
		"correct the command; `pasar show` has it as it was given",
		pasar.BlameUser, &no},
	pasar.CodeBadCheckpoint: {ofSurrounding, "a checkpoint or model file is damaged, or doesn't fit the model",
		"load an earlier one, fetch it again, or build the model that it was saved from",
		pasar.BlameUser, nil},
	pasar.CodeAuth: {ofSurrounding, "a remote service refused the identity",
		"log in, or give the job the token that it needs (--env), and ask for access where it is gated",
		pasar.BlameUser, &no},
	pasar.CodeNetwork: {ofSurrounding, "a remote service could not be reached",
		"try again later, or fetch what it needs beforehand; `pasar submit --retries` tries again by itself",
		pasar.BlameEnvironment, &yes},
	pasar.CodeDiverged: {ofNumbers, "it stopped because its numbers were not finite",
		"a lower learning rate, gradient clipping, bf16 instead of fp16, or a look at the data of that step",
		pasar.BlameJob, nil},
	pasar.CodeException: {ofProgram, "",
		"",
		pasar.BlameJob, nil},
	pasar.CodeInterrupted: {ofProgram, "interrupted",
		"someone or something else sent it: a person, another program, a shutdown; `pasar restart` queues it again",
		pasar.BlameUser, &yes},
	pasar.CodeSignal: {ofProgram, "killed by a signal",
		"",
		pasar.BlameJob, nil},
	pasar.CodeExit: {ofNothing, "it failed", "", pasar.BlameJob, nil},
}
