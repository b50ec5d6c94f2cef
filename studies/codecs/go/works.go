// Package works has the study's works, with any codec.
package works

import (
	"encoding/binary"
	"flag"
	"fmt"
	"log"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	interval   = 200 * time.Millisecond
	clockEvery = 1_000 // Records between two looks at the clock.

	DefaultType = "A"
	DefaultTTL  = 86_400
)

// A Row is a record, as the program itself has it.
type Row struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	Type  string `json:"type"`
	TTL   int32  `json:"ttl"`
	First string `json:"first"`
	Last  string `json:"last"`
}

// number shows that each field was read.
func (r Row) number() uint32 {
	return uint32(r.TTL) + begin(r.Key) + begin(r.Value) + begin(r.Type) + begin(r.First) + begin(r.Last)
}

func begin(text string) uint32 {
	if text == "" {
		return 0
	}
	first, _ := utf8.DecodeRuneInString(text)
	return uint32(first)
}

// read returns the rows of a file: a line each, with tabs between its fields.
func read(path string) ([]Row, error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var rows []Row
	for _, line := range strings.Split(strings.TrimSuffix(string(file), "\n"), "\n") {
		field := strings.Split(line, "\t")
		ttl, err := strconv.ParseInt(field[5], 10, 32)
		if err != nil {
			return nil, err
		}
		rows = append(rows, Row{field[0], field[1], field[2], int32(ttl), field[3], field[4]})
	}
	return rows, nil
}

// A Form is how something becomes bytes, and is made of them again.
type Form[T any] struct {
	Encode func(T) ([]byte, error)
	Decode func([]byte) (T, error)
}

// store writes what was encoded, each with its length before it: four bytes, the highest first.
func store(path string, encoded [][]byte) error {
	var file []byte
	for _, bytes := range encoded {
		file = binary.BigEndian.AppendUint32(file, uint32(len(bytes)))
		file = append(file, bytes...)
	}
	return os.WriteFile(path, file, 0o666)
}

func stored(path string) ([][]byte, error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var encoded [][]byte
	for len(file) > 0 {
		if len(file) < 4 || uint64(len(file)-4) < uint64(binary.BigEndian.Uint32(file)) {
			return nil, fmt.Errorf("%s ends too early", path)
		}
		ends := 4 + int(binary.BigEndian.Uint32(file))
		encoded = append(encoded, file[4:ends])
		file = file[ends:]
	}
	return encoded, nil
}

// last is what was encoded last: else a compiler might leave it out.
var last []byte

// An account is what was done, which is told every now and then.
type account struct {
	done, lookAt uint64
	sum          uint32 // Its overflow is the modulo.
	begun        time.Time
	due, until   time.Duration
}

// add counts records with the sum of their numbers, and says whether the work goes on.
func (a *account) add(records, numbers uint32) bool {
	a.done += uint64(records)
	a.sum += numbers
	if a.done < a.lookAt {
		return true
	}
	a.lookAt += clockEvery
	t := time.Since(a.begun)
	if t < a.due {
		return true
	}
	fmt.Printf("{\"t\": %.6f, \"done\": %d, \"sum\": %d}\n", t.Seconds(), a.done, a.sum)
	a.due = t + interval
	return t < a.until
}

// A task is what is done with things of so many records.
type task struct {
	does             string // Nothing if empty.
	seconds          float64
	made, decodeFrom string // Files, if any.
	records          int
}

// Run does what the arguments say, with the form of a row and that of a list of rows.
func Run(one Form[Row], many Form[[]Row]) {
	var do task
	flag.StringVar(&do.does, "does", "", "the `work`")
	flag.Float64Var(&do.seconds, "seconds", 1, "how long it works")
	flag.StringVar(&do.made, "made", "", "the `file` for what records are encoded")
	flag.StringVar(&do.decodeFrom, "decode-from", "", "decode what is in this `file`, and do nothing else")
	flag.IntVar(&do.records, "at-once", 1, "records of a list; a record alone for 1")
	path := flag.String("records", "", "the `file` of records")
	flag.String("data", "", "what the records are like, which the file has")
	flag.Uint("seed", 1, "what the records come from")
	flag.Parse()
	rows, err := read(*path)
	if err != nil {
		log.Fatal(err)
	}
	if do.records == 1 {
		err = start(do, rows, one, Row.number)
	} else {
		lists := slices.Collect(slices.Chunk(rows, do.records))
		err = start(do, lists, many, numbers)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func numbers(rows []Row) (sum uint32) {
	for _, row := range rows {
		sum += row.number()
	}
	return sum
}

func start[T any](do task, things []T, form Form[T], number func(T) uint32) error {
	if do.decodeFrom != "" {
		return compare(do.decodeFrom, things, form)
	}
	encoded, err := checked(things, form)
	if err != nil {
		return err
	}
	if do.made != "" {
		if err := store(do.made, encoded); err != nil {
			return err
		}
	}
	if do.does == "" {
		return nil
	}
	return work(do, things, encoded, form, number)
}

// compare says where what stands in a file doesn't decode to things.
func compare[T any](path string, things []T, form Form[T]) error {
	encoded, err := stored(path)
	if err != nil {
		return err
	}
	decoded := make([]T, len(encoded))
	for at, bytes := range encoded {
		if decoded[at], err = form.Decode(bytes); err != nil {
			return err
		}
	}
	if !reflect.DeepEqual(decoded, things) {
		return fmt.Errorf("%s doesn't decode to the records", path)
	}
	return nil
}

// checked returns what things are encoded, once it is known that they are the same after the
// round trip.
func checked[T any](things []T, form Form[T]) ([][]byte, error) {
	encoded := make([][]byte, len(things))
	for at, thing := range things {
		var err error
		if encoded[at], err = form.Encode(thing); err != nil {
			return nil, err
		}
		if back, err := form.Decode(encoded[at]); err != nil || !reflect.DeepEqual(back, thing) {
			return nil, fmt.Errorf("it isn't the same after the round trip: %v: %v", thing, err)
		}
	}
	return encoded, nil
}

func work[T any](do task, things []T, encoded [][]byte, form Form[T], number func(T) uint32) error {
	fmt.Println(`{"ready": true}`)
	before := allocatedBytes()
	until := time.Duration(do.seconds * float64(time.Second))
	a := &account{lookAt: clockEvery, begun: time.Now(), due: interval, until: until}
	for at := 0; ; at = (at + 1) % len(things) {
		thing, from := things[at], encoded[at]
		var err error
		if do.does != "decode" {
			if from, err = form.Encode(thing); err != nil {
				return err
			}
			last = from
		}
		if do.does != "encode" {
			if thing, err = form.Decode(from); err != nil {
				return err
			}
		}
		if !a.add(uint32(do.records), number(thing)) {
			break
		}
	}
	allocated := allocatedBytes() - before
	fmt.Printf("{\"result\": {\"allocated_each\": %v}}\n", float64(allocated)/float64(a.done))
	return nil
}

// allocatedBytes returns what was allocated so far.
func allocatedBytes() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.TotalAlloc
}
