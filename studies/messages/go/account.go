// What is the same in all works: the payloads, and the lines that tell of them.

package main

import (
	"fmt"
	"log"
	"os"
	"time"
)

const (
	interval   = 200 * time.Millisecond
	clockEvery = 1_000 // Units between two looks at the clock.
)

// next makes the payload that follows x: C++'s minstd_rand.
func next(x uint32) uint32 { return uint32(uint64(x) * 48271 % 2147483647) }

// after is the sum after one more payload. Its overflow is the modulo. Each place weighs 31 times as
// much as the next, so that payloads in another order have another sum.
func after(sum, payload uint32) uint32 { return sum*31 + payload }

// An account is what the receiver has summed, and when it tells of it.
type account struct {
	done       uint64
	sum        uint32
	begun      time.Time
	due, until time.Duration
}

// begin says that all is set up, and begins the time.
func begin(seconds float64) *account {
	fmt.Println(`{"ready": true}`)
	until := time.Duration(seconds * float64(time.Second))
	return &account{begun: time.Now(), due: interval, until: until}
}

// add counts a unit, and says whether the work goes on.
func (a *account) add(payload uint32) bool {
	a.done++
	a.sum = after(a.sum, payload)
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
