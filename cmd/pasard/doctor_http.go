package main

import (
	"context"

	"pasar"
	"pasar/ipc"
)

// examineHTTP says where the daemon that runs serves HTTP, or why it doesn't. Jobs don't depend on it.
func examineHTTP(_ context.Context, p *patient) []finding {
	d := p.daemon
	switch {
	case d.state != socketAnswers:
		return nil // see examineDaemon
	case d.web != "":
		out := []finding{found(httpUp, "", "served at %s", d.web)}
		for _, a := range d.webs {
			if a.Why != "" {
				out = append(out, found(httpPart, "mend it in `bind` in "+p.cfg.Paths.Config+", or leave it out; until then it is tried again and again",
					"not served on %s: %s", pasar.Clean(a.Address), pasar.Clean(a.Why)))
			}
		}
		return out
	case d.noWeb == nil:
		return nil
	case d.noWeb.Code == ipc.CodeUnsupported && len(p.cfg.Addresses()) == 0:
		return []finding{found(httpOff, "", "turned off")}
	case d.noWeb.Code == ipc.CodeUnsupported:
		return []finding{found(httpNone, d.noWeb.Hint, "the configuration has it on, but the daemon doesn't serve it")}
	}
	return []finding{found(httpDown, or(d.noWeb.Hint, "the daemon's log, "+p.cfg.Paths.Log+", may say more"), "%s", d.noWeb.Message)}
}
