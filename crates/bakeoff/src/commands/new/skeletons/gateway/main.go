package main

import (
	"bufio"
	"encoding/binary"
	"io"
	"log"
	"net"
	"os"
	"sync"
)

// The study asks: {contract}
//
// A frame is a length of two bytes, big-endian, and as many bytes. `J` and the number of a room join
// that room, and come back. Any other frame goes to all members of its sender's room.

// The members of each room, by its number.
var (
	mutex sync.Mutex
	rooms = map[uint32]map[*robot]bool{}
)

// So many frames may wait for a robot: who reads so slowly that there are more is cut.
const waitingMax = 1024

type robot struct {
	conn    net.Conn
	waiting chan []byte
	// The room that it is in, by its number, if it is in one.
	room   uint32
	inRoom bool
}

// read does what the robot says, until its connection ends.
func (r *robot) read() {
	input := bufio.NewReader(r.conn)
	for {
		frame, err := readFrame(input)
		if err != nil {
			break
		}
		mutex.Lock()
		if len(frame) == 7 && frame[2] == 'J' {
			r.leave()
			r.join(frame)
		} else if r.inRoom {
			for member := range rooms[r.room] {
				member.send(frame)
			}
		}
		mutex.Unlock()
	}
	mutex.Lock()
	r.leave()
	mutex.Unlock()
	// Nobody sends to it any more.
	close(r.waiting)
	r.conn.Close()
}

func readFrame(input *bufio.Reader) ([]byte, error) {
	length, err := input.Peek(2)
	if err != nil {
		return nil, err
	}
	frame := make([]byte, 2+int(binary.BigEndian.Uint16(length)))
	_, err = io.ReadFull(input, frame)
	return frame, err
}

func (r *robot) join(frame []byte) {
	r.room, r.inRoom = binary.BigEndian.Uint32(frame[3:]), true
	if rooms[r.room] == nil {
		rooms[r.room] = map[*robot]bool{}
	}
	rooms[r.room][r] = true
	r.send(frame)
}

func (r *robot) leave() {
	if r.inRoom {
		delete(rooms[r.room], r)
	}
}

func (r *robot) send(frame []byte) {
	select {
	case r.waiting <- frame:
	default:
		r.conn.Close()
	}
}

func (r *robot) write() {
	for frame := range r.waiting {
		if _, err := r.conn.Write(frame); err != nil {
			r.conn.Close()
		}
	}
}

func main() {
	listener, err := net.Listen("tcp", net.JoinHostPort(os.Getenv("HOST"), os.Getenv("PORT")))
	if err != nil {
		log.Fatal(err)
	}
	for {
		conn, err := listener.Accept()
		if err != nil {
			log.Fatal(err)
		}
		r := &robot{conn: conn, waiting: make(chan []byte, waitingMax)}
		go r.read()
		go r.write()
	}
}
