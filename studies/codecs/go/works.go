// Package works has the study's works, with any codec.
package works

import (
	"flag"
	"fmt"
	"log"
	"os"
	"reflect"
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

// Run does what the arguments say, with the form of a row and that of a list of rows.
func Run(one Form[Row], many Form[[]Row]) {
	does := flag.String("does", "", "the `work`")
	atOnce := flag.Int("at-once", 1, "records of a list; a record alone for 1")
	seconds := flag.Float64("seconds", 1, "how long it works")
	path := flag.String("records", "", "the `file` of records")
	flag.String("data", "", "what the records are like, which the file has")
	flag.Uint("seed", 1, "what the records come from")
	flag.Parse()
	rows, err := read(*path)
	if err != nil {
		log.Fatal(err)
	}
	until := time.Duration(*seconds * float64(time.Second))
	if *atOnce == 1 {
		err = work(rows, one, *does, until, 1, Row.number)
	} else {
		lists := slices.Collect(slices.Chunk(rows, *atOnce))
		err = work(lists, many, *does, until, uint32(*atOnce), numbers)
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

func work[T any](things []T, form Form[T], does string, until time.Duration, records uint32, number func(T) uint32) error {
	encoded := make([][]byte, len(things))
	bytes := 0
	for at, thing := range things {
		var err error
		if encoded[at], err = form.Encode(thing); err != nil {
			return err
		}
		bytes += len(encoded[at])
		if back, err := form.Decode(encoded[at]); err != nil || !reflect.DeepEqual(back, thing) {
			return fmt.Errorf("it isn't the same after the round trip: %v: %v", thing, err)
		}
	}
	fmt.Println(`{"ready": true}`)
	a := &account{lookAt: clockEvery, begun: time.Now(), due: interval, until: until}
	for at := 0; ; at = (at + 1) % len(things) {
		thing, from := things[at], encoded[at]
		var err error
		if does != "decode" {
			if from, err = form.Encode(thing); err != nil {
				return err
			}
			last = from
		}
		if does != "encode" {
			if thing, err = form.Decode(from); err != nil {
				return err
			}
		}
		if !a.add(records, number(thing)) {
			break
		}
	}
	each := float64(bytes) / float64(len(things)) / float64(records)
	fmt.Printf("{\"result\": {\"bytes_each\": %v}}\n", each)
	return nil
}
