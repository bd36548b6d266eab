package ui

import (
	"strconv"
	"strings"

	"pasar"
)

// GPUCells are a GPU's numbers for a table; an empty one is not known.
type GPUCells struct {
	Index, Name, Memory, Use, Temp, Power string

	Trouble string // why it takes no jobs, in a few words; empty: it does

	Role, TempRole, PowerRole Role // of its name: Bad if it takes no jobs; of its temperature and power
}

// GPUCellsOf lays out a GPU's numbers.
func GPUCellsOf(g *pasar.GPUView) GPUCells {
	var r gpuRow
	(&page{}).warmth(&r, g)
	c := GPUCells{Index: strconv.Itoa(g.Index), Name: Shown(strings.TrimPrefix(g.Name, "NVIDIA ")), Memory: memory(g.Used, g.Total), Temp: r.temp, Power: r.power,
		TempRole: roleOf(r.tempCode), PowerRole: roleOf(r.throttled)}
	if g.Parent != "" {
		c.Index = "└"
		if _, profile, ok := strings.Cut(c.Name, "MIG "); ok {
			c.Name = profile
		}
		if uuid := Shown(g.UUID); len(uuid) > shortUUID {
			c.Name += " " + uuid[:shortUUID]
		}
	}
	if g.Virtual {
		c.Memory = memory(&g.Claimed, g.Total)
	}
	if g.Util != nil {
		c.Use = strconv.FormatFloat(*g.Util, 'f', 0, 64) + " %"
	}
	switch {
	case g.Status != nil && *g.Status != pasar.GPUOK:
		c.Role, c.Trouble = Bad, Shown(string(*g.Status))
	case g.Drained != nil:
		c.Role, c.Trouble = Bad, Shown(g.Drained.Reason)
		if !strings.HasPrefix(c.Trouble, "drained") {
			c.Trouble = "drained: " + c.Trouble
		}
	}
	return c
}

// roleOf is the role that one of this package's sequences stands for.
func roleOf(code string) Role {
	for role, c := range codes {
		if c == code {
			return role
		}
	}
	return Plain
}
