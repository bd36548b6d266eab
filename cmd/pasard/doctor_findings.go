package main

import (
	"encoding/json"
	"fmt"

	"pasar"
)

// A level is how much a finding matters.
type level string

const (
	levelOK      level = "ok"
	levelNote    level = "note"    // worth knowing; nothing need be done
	levelWarning level = "warning" // works, but worse or less safely than it could
	levelProblem level = "problem" // pasar doesn't work, or jobs get harmed
)

// A finding is one thing that the doctor saw. Its texts are clean: one line each, safe to show.
type finding struct {
	symptom symptom
	Check   string
	Level   level
	Found   string
	Fix     string // what to do about it; empty if that is nothing
}

// MarshalJSON writes null for a fix that there isn't.
func (f finding) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Check string  `json:"check"`
		Level level   `json:"level"`
		Found string  `json:"found"`
		Fix   *string `json:"fix"`
	}{f.Check, f.Level, f.Found, pasar.Known(f.Fix)})
}

// found makes a finding. Every finding is made here, so the symptoms are all there is to find.
func found(s symptom, fix, format string, args ...any) finding {
	d := diagnoses[s]
	return finding{s, d.check, d.level, pasar.Clean(fmt.Sprintf(format, args...)), pasar.Clean(fix)}
}

func count(findings []finding, l level) (n int) {
	for _, f := range findings {
		if f.Level == l {
			n++
		}
	}
	return n
}

// Names of the checks, in the order of the report.
const (
	checkConfig   = "configuration"
	checkData     = "data directory"
	checkJournal  = "journal"
	checkRun      = "run directory"
	checkDaemon   = "daemon"
	checkHTTP     = "HTTP"
	checkPrograms = "programs"
	checkTerminal = "terminals"
	checkProc     = "processes"
	checkPlace    = "place of jobs"
	checkService  = "service"
	checkLogins   = "logins"
	checkGPUs     = "GPUs"
	checkLimits   = "limits"
	checkMemory   = "memory"
	checkShm      = "shared memory"
	checkClocks   = "clocks"
	checkGit      = "git"
)

// A symptom is one kind of finding.
type symptom int

const (
	hung symptom = iota // a check that didn't come back; the finding carries that check's name

	configFine
	configNone
	configWrong
	configUnusable
	configOpen

	dataFine
	dataNone
	dataNotDir
	dataForeign
	dataOpen
	dataUnwritable
	dataReadOnly
	dataUnreachable
	dataLow
	dataFull
	dataNoInodes
	dataNetwork

	journalFine
	journalServed
	journalNone
	journalDamaged
	journalNewer
	journalLocked
	journalUnreadable
	journalUnchecked

	runFine
	runNone
	runNotDir
	runForeign
	runOpen
	runUnwritable
	runVanishes
	socketLong
	socketTooLong

	daemonUp
	daemonDown
	daemonDownManual
	daemonAsleep
	daemonStale
	daemonSilent
	daemonRefuses
	daemonForeign
	daemonNotSocket
	daemonOther
	daemonElsewhere
	daemonTroubled
	daemonIncident

	httpUp
	httpOff
	httpNone
	httpDown
	httpPart

	programsFine
	supervisorMissing
	supervisorBroken
	supervisorOther
	clientMissing
	clientBroken
	clientOther
	consoleMissing
	consoleBroken
	consoleOther

	terminalsFine
	ptmxBroken
	devptsMissing
	ptysFew

	procFine
	procMissing
	procEnviron
	procHides

	placeUnit
	placeCgroup
	placeSession
	placeWorse
	placeUnknown
	memoryUnbound

	serviceUp
	serviceNone
	serviceAsleep
	serviceStopped
	serviceFailed
	serviceOff
	serviceMasked
	serviceHalf
	serviceEdited
	serviceOutdated
	serviceOther
	serviceBroken
	serviceElsewhere
	serviceBeside
	serviceUnread
	serviceUnreached

	systemdNone
	lingerOn
	lingerOff
	managerDown
	killedAtLogout
	killedWithSession
	killedIfInSession
	endsWithManager

	gpusFine
	gpusNone
	gpusBroken
	gpusThroughTool
	gpuUnwell
	gpuIdle
	kernelLogFine
	kernelLogClosed

	limitsFine
	filesFew
	processesFew

	memoryProtected
	memoryApart
	memoryCrowded

	shmFine
	shmMissing
	shmSmall

	clocksFine
	clockEarly
	clockBehind
	clockBroken

	gitFine
	gitMissing

	symptoms // how many there are
)

// diagnoses says to which check a symptom belongs and how much it matters.
var diagnoses = [symptoms]struct {
	check string
	level level
}{
	hung: {"", levelProblem},

	configFine:     {checkConfig, levelOK},
	configNone:     {checkConfig, levelOK},
	configWrong:    {checkConfig, levelProblem},
	configUnusable: {checkConfig, levelProblem},
	configOpen:     {checkConfig, levelWarning},

	dataFine:        {checkData, levelOK},
	dataNone:        {checkData, levelOK},
	dataNotDir:      {checkData, levelProblem},
	dataForeign:     {checkData, levelProblem},
	dataOpen:        {checkData, levelWarning},
	dataUnwritable:  {checkData, levelProblem},
	dataReadOnly:    {checkData, levelProblem},
	dataUnreachable: {checkData, levelProblem},
	dataLow:         {checkData, levelWarning},
	dataFull:        {checkData, levelProblem},
	dataNoInodes:    {checkData, levelProblem},
	dataNetwork:     {checkData, levelWarning},

	journalFine:       {checkJournal, levelOK},
	journalServed:     {checkJournal, levelOK},
	journalNone:       {checkJournal, levelOK},
	journalDamaged:    {checkJournal, levelProblem},
	journalNewer:      {checkJournal, levelProblem},
	journalLocked:     {checkJournal, levelProblem},
	journalUnreadable: {checkJournal, levelProblem},
	journalUnchecked:  {checkJournal, levelNote},

	runFine:       {checkRun, levelOK},
	runNone:       {checkRun, levelOK},
	runNotDir:     {checkRun, levelProblem},
	runForeign:    {checkRun, levelProblem},
	runOpen:       {checkRun, levelProblem},
	runUnwritable: {checkRun, levelProblem},
	runVanishes:   {checkRun, levelWarning},
	socketLong:    {checkRun, levelNote},
	socketTooLong: {checkRun, levelProblem},

	daemonUp:         {checkDaemon, levelOK},
	daemonDown:       {checkDaemon, levelNote},
	daemonDownManual: {checkDaemon, levelNote},
	daemonAsleep:     {checkDaemon, levelOK},
	daemonStale:      {checkDaemon, levelNote},
	daemonSilent:     {checkDaemon, levelProblem},
	daemonRefuses:    {checkDaemon, levelProblem},
	daemonForeign:    {checkDaemon, levelProblem},
	daemonNotSocket:  {checkDaemon, levelProblem},
	daemonOther:      {checkDaemon, levelWarning},
	daemonElsewhere:  {checkDaemon, levelWarning},
	daemonTroubled:   {checkDaemon, levelProblem},
	daemonIncident:   {checkDaemon, levelWarning},

	httpUp:   {checkHTTP, levelOK},
	httpOff:  {checkHTTP, levelOK},
	httpNone: {checkHTTP, levelWarning},
	httpDown: {checkHTTP, levelWarning},
	httpPart: {checkHTTP, levelWarning},

	programsFine:      {checkPrograms, levelOK},
	supervisorMissing: {checkPrograms, levelProblem},
	supervisorBroken:  {checkPrograms, levelProblem},
	supervisorOther:   {checkPrograms, levelWarning},
	clientMissing:     {checkPrograms, levelWarning},
	clientBroken:      {checkPrograms, levelWarning},
	clientOther:       {checkPrograms, levelWarning},
	consoleMissing:    {checkPrograms, levelWarning},
	consoleBroken:     {checkPrograms, levelWarning},
	consoleOther:      {checkPrograms, levelWarning},

	terminalsFine: {checkTerminal, levelOK},
	ptmxBroken:    {checkTerminal, levelProblem},
	devptsMissing: {checkTerminal, levelProblem},
	ptysFew:       {checkTerminal, levelWarning},

	procFine:    {checkProc, levelOK},
	procMissing: {checkProc, levelProblem},
	procEnviron: {checkProc, levelWarning},
	procHides:   {checkProc, levelNote},

	placeUnit:     {checkPlace, levelOK},
	placeCgroup:   {checkPlace, levelOK},
	placeSession:  {checkPlace, levelNote},
	placeWorse:    {checkPlace, levelWarning},
	placeUnknown:  {checkPlace, levelNote},
	memoryUnbound: {checkPlace, levelWarning},

	serviceUp:        {checkService, levelOK},
	serviceNone:      {checkService, levelNote},
	serviceAsleep:    {checkService, levelOK},
	serviceStopped:   {checkService, levelNote},
	serviceFailed:    {checkService, levelProblem},
	serviceOff:       {checkService, levelWarning},
	serviceMasked:    {checkService, levelWarning},
	serviceHalf:      {checkService, levelWarning},
	serviceEdited:    {checkService, levelNote},
	serviceOutdated:  {checkService, levelWarning},
	serviceOther:     {checkService, levelWarning},
	serviceBroken:    {checkService, levelProblem},
	serviceElsewhere: {checkService, levelWarning},
	serviceBeside:    {checkService, levelWarning},
	serviceUnread:    {checkService, levelNote},
	serviceUnreached: {checkService, levelWarning},

	systemdNone:       {checkLogins, levelNote},
	lingerOn:          {checkLogins, levelOK},
	lingerOff:         {checkLogins, levelNote},
	managerDown:       {checkLogins, levelWarning},
	killedAtLogout:    {checkLogins, levelProblem},
	killedWithSession: {checkLogins, levelProblem},
	killedIfInSession: {checkLogins, levelWarning},
	endsWithManager:   {checkLogins, levelProblem},

	gpusFine:   {checkGPUs, levelOK},
	gpusNone:   {checkGPUs, levelNote},
	gpusBroken: {checkGPUs, levelWarning},

	gpusThroughTool: {checkGPUs, levelWarning},
	gpuUnwell:       {checkGPUs, levelWarning},
	gpuIdle:         {checkGPUs, levelNote},
	kernelLogFine:   {checkGPUs, levelOK},
	kernelLogClosed: {checkGPUs, levelNote},

	limitsFine:   {checkLimits, levelOK},
	filesFew:     {checkLimits, levelWarning},
	processesFew: {checkLimits, levelWarning},

	memoryProtected: {checkMemory, levelOK},
	memoryApart:     {checkMemory, levelNote},
	memoryCrowded:   {checkMemory, levelWarning},

	shmFine:    {checkShm, levelOK},
	shmMissing: {checkShm, levelWarning},
	shmSmall:   {checkShm, levelWarning},

	clocksFine:  {checkClocks, levelOK},
	clockEarly:  {checkClocks, levelProblem},
	clockBehind: {checkClocks, levelWarning},
	clockBroken: {checkClocks, levelProblem},

	gitFine:    {checkGit, levelOK},
	gitMissing: {checkGit, levelNote},
}
