// A hello-world server on fasthttp, with what its README recommends for load on
// several cores: a process a core, each with a listener of its own
// (SO_REUSEPORT), GOMAXPROCS=1 and bound to its core; and a handler that
// allocates nothing.
package main

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"log"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/prefork"
	"golang.org/x/sys/unix"
)

const idLengthMax = 64

// retryAfter is the time before another try where no connection can be accepted.
const retryAfter = 100 * time.Millisecond

func handle(ctx *fasthttp.RequestCtx) {
	ctx.SetContentType("text/plain")
	if string(ctx.Path()) != "/hello" {
		refuse(ctx, fasthttp.StatusNotFound, "not found\n")
		return
	}
	if !ctx.IsGet() && !ctx.IsHead() {
		ctx.Response.Header.Set("Allow", "GET, HEAD")
		refuse(ctx, fasthttp.StatusMethodNotAllowed, "method not allowed\n")
		return
	}
	id := ctx.QueryArgs().Peek("id")
	if !isID(id) {
		refuse(ctx, fasthttp.StatusBadRequest, "the id has to be 1 to 64 letters and digits\n")
		return
	}
	var number [16]byte
	var digits [2 * len(number)]byte
	binary.NativeEndian.PutUint64(number[:8], rand.Uint64())
	binary.NativeEndian.PutUint64(number[8:], rand.Uint64())
	hex.Encode(digits[:], number[:])
	response := &ctx.Response
	response.AppendBodyString("hello ")
	response.AppendBody(id)
	response.AppendBodyString(", your random number is ")
	response.AppendBody(digits[:])
	response.AppendBodyString("\n")
}

func refuse(ctx *fasthttp.RequestCtx, status int, why string) {
	ctx.SetStatusCode(status)
	ctx.SetBodyString(why)
}

// isID tells whether an id is safe to echo into any kind of text.
func isID(id []byte) bool {
	if len(id) < 1 || len(id) > idLengthMax {
		return false
	}
	for _, c := range id {
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

func main() {
	server := prefork.New(&fasthttp.Server{
		Handler: handle,
		// The others don't say who they are either.
		NoDefaultServerHeader: true,
	})
	server.Reuseport = true
	server.OnMasterDeath = func() { os.Exit(1) }
	serve := server.ServeFunc
	server.ServeFunc = func(listener net.Listener) error { return serve(patient{listener}) }
	if !prefork.IsChild() {
		cores, err := coresAllowed()
		if err != nil {
			log.Fatal("can't tell the cores that it may use: ", err)
		}
		started := 0
		server.CommandProducer = func([]*os.File) (*exec.Cmd, error) {
			core := cores[started%len(cores)]
			started++
			return startChild(core)
		}
	}
	log.Fatal(server.ListenAndServe(net.JoinHostPort(os.Getenv("HOST"), os.Getenv("PORT"))))
}

// patient is a listener that waits while no more files may be open, which passes
// when a connection ends. fasthttp ends by that, as by any error but a timeout, while
// net/http waits.
type patient struct{ net.Listener }

func (l patient) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if !errors.Is(err, unix.EMFILE) && !errors.Is(err, unix.ENFILE) {
			return conn, err
		}
		log.Print("couldn't accept a connection: ", err)
		time.Sleep(retryAfter)
	}
}

// coresAllowed tells the cores that this process is bound to.
func coresAllowed() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, err
	}
	var cores []int
	for core := 0; len(cores) < set.Count(); core++ {
		if set.IsSet(core) {
			cores = append(cores, core)
		}
	}
	return cores, nil
}

// startChild starts a server on this core. A process can bind its own threads
// only one by one, so that taskset does it before there are any.
func startChild(core int) (*exec.Cmd, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	child := exec.Command("taskset", "--cpu-list", strconv.Itoa(core), program)
	child.Env = append(os.Environ(), "FASTHTTP_PREFORK_CHILD=1")
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	return child, child.Start()
}
