// What a message between two goroutines costs, over channels as the tour shows them.
package main

import (
	"flag"
	"fmt"
	"iter"
	"log"
	"os"
	"sync"
	"time"
)

const (
	interval   = 200 * time.Millisecond
	clockEvery = 1_000 // Units between two looks at the clock.
	ringLength = 1_000
	batch      = 10_000
)

// next makes the payload that follows x: C++'s minstd_rand.
func next(x uint32) uint32 { return uint32(uint64(x) * 48271 % 2147483647) }

// An account is what the receiver has added up, and when it tells of it.
type account struct {
	done       uint64
	sum        uint32 // Its overflow is the modulo.
	begun      time.Time
	due, until time.Duration
}

// add counts a unit, and says whether the work goes on.
func (a *account) add(payload uint32) bool {
	a.done++
	a.sum += payload
	return a.done%clockEvery != 0 || a.tell()
}

// tell prints what was done, if that is due, and says whether the work goes on.
func (a *account) tell() bool {
	t := time.Since(a.begun)
	if t < a.due {
		return true
	}
	fmt.Printf("{\"t\": %.6f, \"done\": %d, \"sum\": %d}\n", t.Seconds(), a.done, a.sum)
	a.due = t + interval
	return t < a.until
}

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
	return token{x, t.sum + x, t.done + 1}
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

// spawn returns the bytes that each goroutine of the first batch took.
func spawn(x uint32, a *account) (bytesEach int) {
	before := resident()
	for {
		release, back := make(chan struct{}), make(chan uint32)
		var begun sync.WaitGroup
		begun.Add(batch)
		for range batch {
			x = next(x)
			go func(payload uint32) {
				begun.Done()
				<-release
				back <- payload
			}(x)
		}
		// One that hasn't begun when all are released would never wait.
		begun.Wait()
		if a.done == 0 {
			bytesEach = (resident() - before) / batch
		}
		close(release)
		for range batch {
			a.sum += <-back
		}
		a.done += batch
		if !a.tell() {
			return bytesEach
		}
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

// resident returns how much memory the process has, in bytes.
func resident() int {
	var size, pages int
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Sscan(string(statm), &size, &pages)
	return pages * os.Getpagesize()
}

func main() {
	does := flag.String("does", "", "the `work`")
	seed := flag.Uint("seed", 1, "what payloads begin with")
	seconds := flag.Float64("seconds", 1, "how long it works")
	flag.Parse()
	x, result := uint32(*seed), "{}"
	fmt.Println(`{"ready": true}`)
	until := time.Duration(*seconds * float64(time.Second))
	a := &account{begun: time.Now(), due: interval, until: until}
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
