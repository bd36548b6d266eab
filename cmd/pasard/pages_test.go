package main

import "testing"

func TestThePagesInABrowser(t *testing.T) {
	for _, s := range screens {
		t.Run(s.name, func(t *testing.T) {
			h := newHome(t)
			addr := h.startWeb()
			b := openBrowser(t, addr, s)
			b.open("/")
			b.see("button", "Submit a job")
			b.look("an empty market")
		})
	}
}
