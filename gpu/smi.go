package gpu

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"pasar"
)

// smiFields are what nvidia-smi is asked of a GPU. One that doesn't know a field says so, and isn't asked
// for it again. The name is the last, since it alone may hold a comma.
var smiFields = []string{"index", "uuid", "pci.bus_id", "driver_version", "memory.total", "memory.reserved", "memory.used",
	"utilization.gpu", "temperature.gpu", "power.draw", "enforced.power.limit", "fan.speed", "clocks.sm", "compute_mode",
	"clocks_throttle_reasons.active", "mig.mode.current", "name"}

// An smi looks at GPUs through nvidia-smi, where the driver's library can't be asked.
type smi struct {
	path   string
	fields []string // that it knows; nil: not asked yet
}

// look is one look. The processes that only draw aren't among those it tells.
func (s *smi) look(ctx context.Context) (Look, error) {
	if s.fields == nil {
		s.fields = slices.Clone(smiFields)
	}
	out, err := query(ctx, s.path, s.fields)
	for exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 2; {
		unknown := slices.IndexFunc(s.fields, func(f string) bool { return strings.Contains(err.Error(), `"`+f+`"`) })
		if unknown <= 2 { // index, uuid and address are a must
			break
		}
		s.fields = slices.Delete(s.fields, unknown, unknown+1)
		out, err = query(ctx, s.path, s.fields)
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == exitNoDevice {
		return Look{}, nil
	}
	if err != nil {
		return Look{}, err
	}
	look, err := parseSMI(out, s.fields)
	if err != nil || len(look.Sights) == 0 {
		return look, err
	}
	out, err = runSMI(ctx, s.path, "--query-compute-apps=gpu_uuid,pid,used_memory,process_name", "--format=csv,noheader,nounits")
	if err != nil {
		return Look{}, err
	}
	return look, parseApps(out, look.Sights)
}

// parseSMI reads the answer to a query of fields.
func parseSMI(out []byte, fields []string) (look Look, err error) {
	for n, line := range bytes.Split(bytes.TrimRight(out, "\r\n \t"), []byte("\n")) {
		text := strings.TrimSpace(string(line))
		if text == "" || text == "No devices were found" {
			continue
		}
		values := strings.SplitN(text, ",", len(fields))
		if len(values) != len(fields) {
			return Look{}, fmt.Errorf("nvidia-smi, line %d (%s): %d fields, want %d", n+1, excerpt(line), len(values), len(fields))
		}
		row := map[string]string{}
		for i, f := range fields {
			row[f] = strings.TrimSpace(values[i])
		}
		s, err := smiSight(row)
		if err != nil {
			return Look{}, fmt.Errorf("nvidia-smi, line %d (%s): %w", n+1, excerpt(line), err)
		}
		if look.Driver = tidy(row["driver_version"]); len(look.Sights) >= maxSights {
			return Look{}, fmt.Errorf("nvidia-smi: more than %d GPUs", maxSights)
		}
		look.Sights = append(look.Sights, s)
	}
	slices.SortFunc(look.Sights, func(a, b Sight) int { return compareBus(a.Device, b.Device) })
	m := message{Seen: &seen{Sights: look.Sights}}
	if err := m.check(); err != nil {
		return Look{}, fmt.Errorf("nvidia-smi: %w", err)
	}
	return look, nil
}

func smiSight(row map[string]string) (s Sight, err error) {
	d, r := &s.Device, &s.Now
	if d.Index, err = strconv.Atoi(row["index"]); err != nil {
		return s, errors.New("bad index")
	}
	d.UUID, d.Bus, d.Name, r.Status = row["uuid"], row["pci.bus_id"], row["name"], pasar.GPUOK
	for _, v := range row {
		switch strings.ToLower(strings.Trim(v, "[]")) {
		case "gpu is lost", "gpu requires reset":
			r.Status, r.Detail = pasar.GPULost, strings.Trim(v, "[]")
		}
	}
	if r.Status != pasar.GPUOK {
		if d.Left = r.Detail; !validUUID(d.UUID) {
			d.UUID = ""
		}
		if !plain(d.Bus) {
			d.Bus = ""
		}
		d.Name = ""
		return s, nil
	}
	total, known, err := memory(row["memory.total"])
	switch {
	case err != nil:
		s.distrust("nvidia-smi says memory.total: " + tidy(row["memory.total"]))
	case !known:
		d.Unified = true
	default:
		r.Total, d.Total = &total, total
		// Unknown or larger than the total is not to be believed, and says nothing about the total.
		if reserved, known, err := memory(row["memory.reserved"]); err == nil && known && reserved < total {
			r.Reserved, d.Total = &reserved, total-reserved
		}
		if used, known, err := memory(row["memory.used"]); err == nil && known {
			r.Used = &used
		}
	}
	for field, to := range map[string]**float64{"utilization.gpu": &r.Util, "temperature.gpu": &r.TempC, "power.draw": &r.PowerW,
		"enforced.power.limit": &r.LimitW, "fan.speed": &r.FanPct, "clocks.sm": &r.ClockMHz} {
		if f, err := strconv.ParseFloat(row[field], 64); err == nil && !math.IsInf(f, 0) {
			*to = &f
		}
	}
	switch row["compute_mode"] {
	case "Exclusive_Process", "Exclusive_Thread", "Prohibited":
		r.Exclusive = true
	}
	if mask, err := strconv.ParseUint(row["clocks_throttle_reasons.active"], 0, 64); err == nil {
		r.Throttle = ThrottleReasons(mask)
	}
	if row["mig.mode.current"] == "Enabled" {
		d.Left = "MIG is on, and its instances can only be seen through NVIDIA's library"
	}
	return s, nil
}

// parseApps adds the processes to the GPUs that they are on.
func parseApps(out []byte, sights []Sight) error {
	for i := range sights {
		sights[i].Now.Processes = []pasar.GPUProcess{}
	}
	for n, line := range bytes.Split(bytes.TrimRight(out, "\r\n \t"), []byte("\n")) {
		text := strings.TrimSpace(string(line))
		if text == "" || strings.HasPrefix(text, "No ") {
			continue
		}
		f := strings.SplitN(text, ",", 4)
		if len(f) != 4 {
			return fmt.Errorf("nvidia-smi, processes, line %d (%s): %d fields, want 4", n+1, excerpt(line), len(f))
		}
		for i := range f {
			f[i] = strings.TrimSpace(f[i])
		}
		pid, err := strconv.Atoi(f[1])
		if err != nil || pid <= 0 || pid > math.MaxInt32 {
			return fmt.Errorf("nvidia-smi, processes, line %d (%s): bad pid", n+1, excerpt(line))
		}
		p := pasar.GPUProcess{Pid: pid}
		if name := f[3]; !strings.HasPrefix(name, "[") && name != "" {
			p.Name = tidy(filepath.Base(name))
		}
		if used, known, err := memory(f[2]); err == nil && known {
			p.Used = &used
		}
		for i := range sights {
			if sights[i].Device.UUID == f[0] && len(sights[i].Now.Processes) < maxProcesses {
				sights[i].Now.Processes = append(sights[i].Now.Processes, p)
			}
		}
	}
	return nil
}
