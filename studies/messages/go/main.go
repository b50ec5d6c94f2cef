// What a message between two goroutines costs, over channels as the tour shows them.
package main

import (
	"flag"
	"fmt"
	"iter"
	"log"
)

const ringLength = 1_000

func oneWay(x uint32, capacity int, a *account) {
	messages := make(chan uint32, capacity)
	go func() {
		for x = next(x); ; x = next(x) {
			messages <- x
		}
	}()
	for a.add(<-messages) {
	}
}

func pingPong(x uint32, a *account) {
	ping, pong := make(chan uint32), make(chan uint32)
	go func() {
		for message := range ping {
			pong <- message
		}
	}()
	for goesOn := true; goesOn; goesOn = a.add(<-pong) {
		x = next(x)
		ping <- x
	}
}

// A token goes round the ring.
type token struct {
	x, sum uint32
	done   uint64
}

func (t token) hop() token {
	x := next(t.x)
	return token{x, after(t.sum, x), t.done + 1}
}

func ring(x uint32, a *account) {
	first := make(chan token)
	last := first
	for range ringLength - 1 {
		in, out := last, make(chan token)
		go func() {
			for t := range in {
				out <- t.hop()
			}
		}()
		last = out
	}
	for t, goesOn := (token{x: x}), true; goesOn; goesOn = a.tell() {
		first <- t
		t = (<-last).hop()
		a.done, a.sum = t.done, t.sum
	}
}

// hand switches between two coroutines. runtime.Gosched would leave to the scheduler who is next,
// and on which thread.
func hand(x uint32, a *account) {
	step := func() bool {
		x = next(x)
		return a.add(x)
	}
	resume, stop := iter.Pull(func(yield func(bool) bool) {
		for yield(step()) {
		}
	})
	defer stop()
	for goesOn := step(); goesOn; goesOn = goesOn && step() {
		goesOn, _ = resume()
	}
}

func main() {
	does := flag.String("does", "", "the `work`")
	seed := flag.Uint("seed", 1, "what payloads begin with")
	seconds := flag.Float64("seconds", 1, "how long it works")
	flag.Parse()
	x, result := uint32(*seed), "{}"
	a := begin(*seconds)
	switch *does {
	case "oneway-1":
		oneWay(x, 1, a)
	case "oneway-64":
		oneWay(x, 64, a)
	case "oneway-1024":
		oneWay(x, 1024, a)
	case "pingpong":
		pingPong(x, a)
	case "ring":
		ring(x, a)
	case "spawn":
		result = fmt.Sprintf(`{"bytes_each": %d}`, spawn(x, a))
	case "switch":
		hand(x, a)
	default:
		log.Fatalf("it can't do %q", *does)
	}
	fmt.Printf("{\"result\": %s}\n", result)
}
