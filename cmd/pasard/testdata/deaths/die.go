// Command die ends as programs in Go do: die HOW.
package main

import (
	"fmt"
	"log"
	"net"
	"os"
	"sync"
)

func main() {
	how := ""
	if len(os.Args) > 1 {
		how = os.Args[1]
	}
	switch how {
	case "panic":
		panic("manifest lists shard 9 twice")
	case "error":
		panic(fmt.Errorf("decode shard %d: bad magic", 7))
	case "nilmap":
		var seen map[string]int
		seen[how] = 1
	case "nil":
		var p *struct{ n int }
		fmt.Println(p.n)
	case "index":
		s := make([]int, 3)
		fmt.Println(s[len(os.Args)+5])
	case "deadlock":
		var wg sync.WaitGroup
		wg.Add(1)
		wg.Wait()
	case "stack":
		fmt.Println(deeper(1))
	case "fatal":
		log.Fatal("eval: the bar is 0.40 and the score is 0.31")
	case "memory":
		var all [][]byte
		for {
			all = append(all, make([]byte, 64<<20))
		}
	case "listen":
		if _, err := net.Listen("tcp", "127.0.0.1:"+os.Getenv("PORT")); err != nil {
			log.Fatal(err)
		}
	case "dial":
		if _, err := net.Dial("tcp", "127.0.0.1:9"); err != nil {
			log.Fatal(err)
		}
	case "read":
		if _, err := os.ReadFile(os.Args[2]); err != nil {
			log.Fatal(err)
		}
	case "write":
		if err := os.WriteFile(os.Args[2], []byte("x"), 0o600); err != nil {
			log.Fatal(err)
		}
	case "files":
		for {
			if _, err := os.Open("/dev/null"); err != nil {
				log.Fatal(err)
			}
		}
	case "open":
		if _, err := os.Open("shards/000.tar"); err != nil {
			log.Fatal(err)
		}
	}
}

func deeper(n int) int { return deeper(n+1) + 1 }
