//go:build !go1.20

package main

import (
	"math/rand"
	"time"
)

// From Go 1.20 on the generator is seeded, and takes a lock only where a program has
// seeded it as well.
func init() {
	rand.Seed(time.Now().UnixNano())
}
