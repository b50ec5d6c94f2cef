package main

import (
	"encoding/binary"
	"sync"
)

// rooms are those in which there is somebody, by their numbers.
type rooms struct {
	mutex sync.Mutex
	rooms map[uint32]*room
}

type room struct {
	number  uint32
	mutex   sync.RWMutex
	members map[*robot]struct{}
}

// join puts a robot into the room that its frame names, and sends the frame back. Both is done
// before anything else is said there.
func (all *rooms) join(r *robot, frame []byte) {
	number := binary.BigEndian.Uint32(frame[lengthBytes+1:])
	all.mutex.Lock()
	defer all.mutex.Unlock()
	r.room = all.rooms[number]
	if r.room == nil {
		r.room = &room{number: number, members: map[*robot]struct{}{}}
		all.rooms[number] = r.room
	}
	r.room.mutex.Lock()
	defer r.room.mutex.Unlock()
	r.room.members[r] = struct{}{}
	r.send(frame)
}

// leave takes a robot out of the room that it is in, if it is in one.
func (all *rooms) leave(r *robot) {
	if r.room == nil {
		return
	}
	all.mutex.Lock()
	defer all.mutex.Unlock()
	r.room.mutex.Lock()
	defer r.room.mutex.Unlock()
	delete(r.room.members, r)
	if len(r.room.members) == 0 {
		delete(all.rooms, r.room.number)
	}
}

// say sends a frame to all members, the one that said it among them.
func (r *room) say(frame []byte) {
	r.mutex.RLock()
	defer r.mutex.RUnlock()
	for member := range r.members {
		member.send(frame)
	}
}
