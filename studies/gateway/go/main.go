// A gateway of rooms on package net: a goroutine that reads and one that writes for each robot.
package main

import (
	"log"
	"net"
	"os"
	"time"
)

// Before another try where no connection can be accepted.
const pause = 100 * time.Millisecond

func main() {
	listener, err := net.Listen("tcp", net.JoinHostPort(os.Getenv("HOST"), os.Getenv("PORT")))
	if err != nil {
		log.Fatal(err)
	}
	all := rooms{rooms: map[uint32]*room{}}
	for {
		conn, err := listener.Accept()
		if err != nil {
			log.Print(err)
			// Most likely no more files may be open, which passes when a connection ends.
			time.Sleep(pause)
			continue
		}
		r := &robot{conn: conn, waiting: make(chan []byte, waitingMax)}
		go r.read(&all)
		go r.write()
	}
}
