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

// An account is what the receiver has added up, and when it tells of it.
type account struct {
	done       uint64
	sum        uint32 // Its overflow is the modulo.
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
