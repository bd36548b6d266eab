package daemon

import (
	"context"

	"pasar/ipc"
)

// A WebAccess says how to get in over HTTP. Errors that are *ipc.Error cross to the client as they are.
type WebAccess interface {
	Token(fresh bool) (string, error) // fresh: another one
	Where() (string, error)           // the address of its start page
	Link() (string, error)            // an address that signs in the browser which opens it first
	Served() []ipc.WebAddress         // where it is listened, or should be
}

// errNoWeb is the answer of a daemon that serves no HTTP.
var errNoWeb = &ipc.Error{Code: ipc.CodeUnsupported, Message: "this daemon serves no HTTP",
	Hint: "`http = false` in the configuration, or PASAR_ADDRESS=off, turns it off; a restart of the daemon turns it on again"}

func (d *Daemon) serveToken(_ context.Context, c *ipc.Call) error {
	var r ipc.TokenRequest
	if err := c.Bind(&r); err != nil {
		return err
	}
	if d.Web == nil {
		return errNoWeb
	}
	t, err := d.Web.Token(r.Fresh)
	if err != nil {
		return err
	}
	return c.Answer(ipc.TokenAnswer{Token: t})
}

func (d *Daemon) serveWeb(_ context.Context, c *ipc.Call) error {
	var r ipc.WebRequest
	if err := c.Bind(&r); err != nil {
		return err
	}
	if d.Web == nil {
		return errNoWeb
	}
	tell := d.Web.Link
	if r.Where {
		tell = d.Web.Where
	}
	url, err := tell()
	if err != nil {
		return err
	}
	return c.Answer(ipc.WebAnswer{URL: url, Addresses: d.Web.Served()})
}
