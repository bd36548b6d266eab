// Package web serves pasar over HTTP: its JSON to scripts and agents, its guides to anybody. It is a client of the
// daemon's protocol like any other, and lets in only who may use the daemon's socket, or has been given its token.
package web
