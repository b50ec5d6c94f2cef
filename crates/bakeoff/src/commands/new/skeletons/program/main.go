package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

func main() {
	// The study's own parameters stand beside seed and seconds: given["--NAME"].
	given := map[string]string{}
	for at := 1; at+1 < len(os.Args); at += 2 {
		given[os.Args[at]] = os.Args[at+1]
	}
	seed, _ := strconv.ParseUint(given["--seed"], 10, 64)
	seconds, _ := strconv.ParseFloat(given["--seconds"], 64)

	payload, done, sum := seed, 0, uint32(0)
	fmt.Println(`{"ready": true}`)
	began, told := time.Now(), 0.0
	for told < seconds {
		// The clock is looked at once in many units, so that it isn't what is measured.
		for unit := 0; unit < 1000; unit++ {
			// Each unit has a number that follows from the one before.
			payload = payload * 48271 % 2147483647
			// FILL IN: this only sums the numbers. The study asks: {contract}
			sum += uint32(payload)
			done++
		}
		if now := time.Since(began).Seconds(); now-told >= 0.2 {
			told = now
			fmt.Printf("{\"t\": %f, \"done\": %d, \"sum\": %d}\n", now, done, sum)
		}
	}
	fmt.Println(`{"result": {}}`)
}
