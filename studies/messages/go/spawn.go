// The work that creates goroutines and waits for all of them.

package main

import "sync"

const batch = 10_000 // Goroutines that live at once.

// What a goroutine hands back, with its number: they do in any order.
type handedBack struct {
	number  int
	payload uint32
}

// spawn returns the bytes that each goroutine of the first batch took.
func spawn(x uint32, a *account) (bytesEach int) {
	before := resident()
	inOrder := make([]uint32, batch)
	for {
		release, back := make(chan struct{}), make(chan handedBack)
		var begun sync.WaitGroup
		begun.Add(batch)
		for number := range batch {
			x = next(x)
			go func(payload uint32) {
				begun.Done()
				<-release
				back <- handedBack{number, payload}
			}(x)
		}
		// One that hasn't begun when all are released would never wait.
		begun.Wait()
		if a.done == 0 {
			bytesEach = (resident() - before) / batch
		}
		close(release)
		for range batch {
			handed := <-back
			inOrder[handed.number] = handed.payload
		}
		for _, payload := range inOrder {
			a.sum = after(a.sum, payload)
		}
		a.done += batch
		if !a.tell() {
			return bytesEach
		}
	}
}
