package main

import (
	"context"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

func TestAPageOfWhichAPartDidNotComeIsAskedForAgain(t *testing.T) {
	h := newHome(t)
	b := openBrowser(t, h.startWeb(), screens[0])
	b.pardon("ERR_BLOCKED_BY_CLIENT")
	b.do(command(network.Enable, network.EnableParams{}),
		command(network.SetBlockedURLs, network.SetBlockedURLsParams{URLPatterns: []*network.BlockPattern{{URLPattern: "*://*:*/assets/lanes.js", Block: true}}}))
	b.open("/")
	b.do(command(network.SetBlockedURLs, network.SetBlockedURLsParams{}))
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	for there := false; !there; { // the page goes away meanwhile, and an expression with it
		there, _ = chromedp.Run(ctx, chromedp.Evaluate[bool](`sessionStorage.getItem("tries") === "1" && Boolean(document.querySelector(".jobcard .empty"))`))
		select {
		case <-ctx.Done():
			t.Fatal("half of the page is there, and nobody asks for the rest")
		case <-time.After(50 * time.Millisecond):
		}
	}
}
