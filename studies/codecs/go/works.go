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

// number shows that each field was read. Each place weighs 31 times as much as the next.
func (r Row) number() uint32 {
	number := uint32(r.TTL)
	for _, text := range [...]string{r.Value, r.Type, r.First, r.Last, r.Key} {
		number = (number*31+begin(text))*31 + end(text)
	}
	return number
}

// changed is the row in another round, which has another letter at the end of its key.
func (r Row) changed(letter string) Row {
	r.Key = r.Key[:len(r.Key)-1] + letter
	return r
}

func begin(text string) uint32 {
	if text == "" {
		return 0
	}
	first, _ := utf8.DecodeRuneInString(text)
	return uint32(first)
}

// end is the code point with which a text ends, which is one of ASCII.
func end(text string) uint32 {
	if text == "" {
		return 0
	}
	return uint32(text[len(text)-1])
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

// count counts a record.
func (a *account) count(row Row) {
	a.done++
	a.sum = a.sum*31 + row.number()
}

// countAll counts the records of a list.
func (a *account) countAll(rows []Row) {
	for _, row := range rows {
		a.count(row)
	}
}

// goesOn says whether the work goes on.
func (a *account) goesOn() bool {
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
	seed             uint
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
	flag.UintVar(&do.seed, "seed", 1, "what the records and the letters of rounds come from")
	flag.Parse()
	rows, err := read(*path)
	if err != nil {
		log.Fatal(err)
	}
	if do.records == 1 {
		err = start(do, rows, one, kind[Row]{Row.changed, (*account).count})
	} else {
		lists := slices.Collect(slices.Chunk(rows, do.records))
		err = start(do, lists, many, kind[[]Row]{changedAll, (*account).countAll})
	}
	if err != nil {
		log.Fatal(err)
	}
}

// A kind of thing: a row, or a list of rows.
type kind[T any] struct {
	changed func(T, string) T
	count   func(*account, T)
}

func changedAll(rows []Row, letter string) []Row {
	changed := make([]Row, len(rows))
	for at, row := range rows {
		changed[at] = row.changed(letter)
	}
	return changed
}

func start[T any](do task, things []T, form Form[T], of kind[T]) error {
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
	return work(do, things, encoded, form, of)
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

const (
	firstLetter = 'a'
	letters     = 16
)

// places says where bytes have the letters that a round changes: there those of another letter
// differ.
func places[T any](encoded []byte, thing T, form Form[T], do task, of kind[T]) ([]int, error) {
	other, err := form.Encode(of.changed(thing, string(firstLetter+1)))
	var found []int
	if err == nil && len(other) == len(encoded) {
		for at := range encoded {
			if encoded[at] != other[at] {
				found = append(found, at)
			}
		}
	}
	if len(found) != do.records {
		return nil, fmt.Errorf("another letter isn't one other byte: %v: %v", thing, err)
	}
	return found, nil
}

// rounds returns what begins a round: no round has what was done in the last one.
func rounds[T any](do task, things []T, encoded [][]byte, form Form[T], of kind[T]) (func(), error) {
	x := uint64(do.seed)
	inBytes := make([][]int, len(things))
	for at, thing := range things {
		var err error
		if inBytes[at], err = places(encoded[at], thing, form, do, of); err != nil {
			return nil, err
		}
	}
	return func() {
		x = x * 48271 % 2147483647 // C++'s minstd_rand.
		letter := byte(firstLetter + x%letters)
		for at := range things {
			if do.does != "decode" {
				things[at] = of.changed(things[at], string(rune(letter)))
				continue
			}
			for _, place := range inBytes[at] {
				encoded[at][place] = letter
			}
		}
	}, nil
}

func work[T any](do task, things []T, encoded [][]byte, form Form[T], of kind[T]) error {
	beginRound, err := rounds(do, things, encoded, form, of)
	if err != nil {
		return err
	}
	fmt.Println(`{"ready": true}`)
	before := allocatedBytes()
	until := time.Duration(do.seconds * float64(time.Second))
	a := &account{lookAt: clockEvery, begun: time.Now(), due: interval, until: until}
	for at := 0; ; at = (at + 1) % len(things) {
		if at == 0 {
			beginRound()
		}
		thing, from := things[at], encoded[at]
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
		of.count(a, thing)
		if !a.goesOn() {
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
