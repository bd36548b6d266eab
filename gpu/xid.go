package gpu

import (
	"slices"

	"pasar"
)

// maxXid bounds the codes that are believed; NVIDIA's end below 200.
const maxXid = 9999

// xids is what each Xid means and what is done about it: the facts of NVIDIA's catalogue of Xid errors (as
// of October 2025, to driver 595), in our words. What a class and an action are is for package pasar to say.
var xids = []struct {
	class   pasar.XidClass
	action  pasar.XidAction
	meaning string
	codes   []int
}{
	{pasar.XidApp, pasar.XidFailJob, "the GPU stopped processing for the program",
		[]int{8}},
	{pasar.XidApp, pasar.XidFailJob, "the program sent the GPU commands that can't be",
		[]int{11, 25, 32}},
	{pasar.XidApp, pasar.XidFailJob, "a kernel of the program did something illegal (instruction, address or launch)",
		[]int{13}},
	{pasar.XidApp, pasar.XidFailJob, "the program used an address of GPU memory that isn't its own",
		[]int{31}},
	{pasar.XidDriver, pasar.XidNote, "a notice of the driver or its firmware",
		[]int{37, 38, 44, 66, 67, 141, 152, 153, 160, 161}},
	{pasar.XidApp, pasar.XidFailJob, "a copy engine met a fault of the program",
		[]int{39, 40, 41, 70, 71, 72, 75, 76, 77, 85, 126, 127, 128, 129, 130, 131, 132, 133, 134, 135}},
	{pasar.XidApp, pasar.XidFailJob, "a channel was reset after a fault of the program; the GPU goes on",
		[]int{43}},
	{pasar.XidInfo, pasar.XidNote, "channels were cleaned up after another error or a killed process",
		[]int{45}},
	{pasar.XidGPU, pasar.XidDrainReset, "the GPU did not respond in time",
		[]int{46}},
	{pasar.XidHW, pasar.XidDrainReset, "GPU memory had an error that can't be corrected",
		[]int{48}},
	{pasar.XidHW, pasar.XidDrainOperator, "auxiliary power is not connected",
		[]int{54}},
	{pasar.XidApp, pasar.XidFailJob, "a video, JPEG or optical flow engine met a fault of the program",
		[]int{60, 68, 82, 83, 84, 86, 88, 89, 96, 97, 98, 99, 100, 101, 102, 103, 104, 105, 139}},
	{pasar.XidHW, pasar.XidDrainReset, "the GPU's own controller halted",
		[]int{62}},
	{pasar.XidInfo, pasar.XidResetWhenIdle, "bad GPU memory is to be replaced by spare at the next reset",
		[]int{63}},
	{pasar.XidHW, pasar.XidDrainOperator, "bad GPU memory could not be replaced by spare",
		[]int{64}},
	{pasar.XidApp, pasar.XidFailJob, "the program sent the GPU data that can't be",
		[]int{69, 80}},
	{pasar.XidLink, pasar.XidDrainOperator, "a link between GPUs (NVLink) has errors",
		[]int{74, 144, 145, 146, 147, 148, 149, 150}},
	{pasar.XidHW, pasar.XidDrainReboot, "the GPU has fallen off the bus",
		[]int{79}},
	{pasar.XidInfo, pasar.XidNote, "a notice about the GPU's health",
		[]int{92, 93, 121, 137, 157}},
	{pasar.XidHW, pasar.XidFailJobReset, "GPU memory had an error that only hit the program using it",
		[]int{94}},
	{pasar.XidHW, pasar.XidDrainReset, "GPU memory had an error that may have hit every program on it",
		[]int{95, 140}},
	{pasar.XidInfo, pasar.XidNote, "a test message",
		[]int{106, 107}},
	{pasar.XidGPU, pasar.XidDrainReset, "switching between programs took too long",
		[]int{109}},
	{pasar.XidGPU, pasar.XidDrainReset, "the GPU's firmware or start-up failed, or did not respond in time",
		[]int{110, 119, 120, 143, 155, 158}},
	{pasar.XidLink, pasar.XidDrainReset, "a link between GPUs could not be set up",
		[]int{136}},
	{pasar.XidDriver, pasar.XidDrainOperator, "an encoder or a key rotation failed",
		[]int{142, 151}},
	{pasar.XidInfo, pasar.XidReadRecovery, "what the driver recommends to do about the GPU has changed",
		[]int{154}},
	{pasar.XidHW, pasar.XidResetWhenIdle, "a part of the GPU is to be retired at the next reset",
		[]int{156}},
	{pasar.XidInfo, pasar.XidNote, "a notice about power smoothing",
		[]int{162, 163, 164, 165}},
	{pasar.XidHW, pasar.XidDrainOperator, "the bus, a controller or the memory system failed",
		[]int{167, 169, 173, 175}},
	{pasar.XidHW, pasar.XidNote, "there is less GPU memory than before",
		[]int{168}},
	{pasar.XidHW, pasar.XidDrainReset, "GPU memory had an error that can't be corrected: which part",
		[]int{171, 172}},
}

// DescribeXid fills in what a code means. Of a code that isn't in the table nothing is known but that what
// the driver recommends should be read.
func DescribeXid(x *pasar.Xid) {
	for _, row := range xids {
		if slices.Contains(row.codes, x.Code) {
			x.Class, x.Action, x.Meaning = row.class, row.action, row.meaning
			return
		}
	}
	x.Class, x.Action, x.Meaning = pasar.XidInfo, pasar.XidReadRecovery, "an error that pasar's table doesn't have"
}
