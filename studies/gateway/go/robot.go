package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime"
)

const (
	// Bytes of a frame's length.
	lengthBytes = 2
	// Bytes of the frame that joins a room: its length, J and the room's number.
	joinBytes = lengthBytes + 5
	// So many frames may wait for a robot.
	waitingMax = 256
)

var errEmpty = errors.New("a frame has a byte at least")

// A robot's connection. Frames have their lengths before them, and are shared by all to whom they
// go.
type robot struct {
	conn    net.Conn
	waiting chan []byte
	// Where it is; nil before it has joined. For the reading goroutine alone.
	room *room
}

// read takes in what the robot says, until its connection ends.
func (r *robot) read(all *rooms) {
	input := bufio.NewReader(r.conn)
	for {
		frame, err := readFrame(input)
		if err != nil {
			break
		}
		if len(frame) == joinBytes && frame[lengthBytes] == 'J' {
			all.leave(r)
			all.join(r, frame)
		} else if r.room != nil {
			r.room.say(frame)
			if len(r.waiting) > waitingMax/2 {
				// Who says much at once lets them write first.
				runtime.Gosched()
			}
		}
	}
	all.leave(r)
	// Nobody sends to it any more.
	close(r.waiting)
	r.conn.Close()
}

func readFrame(input *bufio.Reader) ([]byte, error) {
	length, err := input.Peek(lengthBytes)
	if err != nil {
		return nil, err
	}
	bytes := int(binary.BigEndian.Uint16(length))
	if bytes == 0 {
		return nil, errEmpty
	}
	frame := make([]byte, lengthBytes+bytes)
	_, err = io.ReadFull(input, frame)
	return frame, err
}

// send has a frame wait for the robot. One that reads so slowly that there is no room for it is
// cut.
func (r *robot) send(frame []byte) {
	select {
	case r.waiting <- frame:
	default:
		// Both goroutines notice.
		r.conn.Close()
	}
}

// write puts out what waits for the robot, all by one call of the kernel.
func (r *robot) write() {
	var batch [][]byte
	for frame := range r.waiting {
		batch = append(batch[:0], frame)
		for more := len(r.waiting); more > 0; more-- {
			batch = append(batch, <-r.waiting)
		}
		buffers := net.Buffers(batch)
		if _, err := buffers.WriteTo(r.conn); err != nil {
			// The reading goroutine notices.
			r.conn.Close()
			return
		}
	}
}
