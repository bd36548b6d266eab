package main

import (
	"context"
	"fmt"
	"strings"

	"pasar"
	"pasar/ipc"
)

func webCommand() *command {
	return &command{
		name: "web", section: sectionMachine, brief: "open pasar's HTTP side in a browser, signed in",
		long: `It prints an address that signs in the browser which opens it first, within ten minutes, for thirty days; where there is a
desktop it opens a browser, too, by way of a file that only you can read: what a program is started with, everybody can. From another
machine, forward the port of the HOST:PORT that it prints: ssh -L PORT:HOST:PORT box.`,
		examples: []example{
			{"pasar web", "print the address, and open it"},
			{"pasar web --no-open", "only print it"},
		},
		setup: func(f *flags) action {
			noOpen := f.Bool("no-open", false, "open no browser")
			return func(ctx context.Context, c *call) error {
				if err := c.noArgs(); err != nil {
					return err
				}
				var ans ipc.WebAnswer
				err := c.ask(ctx, func(d *ipc.Client) (err error) {
					ans, err = d.Web(ctx, ipc.WebRequest{})
					return err
				})
				if err != nil {
					return err
				}
				url := ans.URL
				c.sayHowItIsReached(url)
				if c.json {
					return c.printJSON(struct {
						Schema int    `json:"schema"`
						URL    string `json:"url"`
					}{pasar.Schema, url})
				}
				if err := c.print(url + "\n"); err != nil {
					return err
				}
				if !*noOpen && c.term.is && c.far == nil {
					c.openBrowser(url)
				}
				return nil
			}
		},
	}
}

// sayHowItIsReached says of an address of another machine's HTTP side that it isn't reached from here, unless a port is forwarded:
// it was asked for by ssh, since HTTP gives none out.
func (c *call) sayHowItIsReached(url string) {
	if c.far == nil {
		return
	}
	_, rest, _ := strings.Cut(url, "://")
	addr, _, _ := strings.Cut(rest, "/")
	port := addr[strings.LastIndexByte(addr, ':')+1:]
	c.note(fmt.Sprintf("it is an address of %s: forward the port first, ssh -L %s:%s %s", c.far.Name, port, addr, c.far.Name))
}
