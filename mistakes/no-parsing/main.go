// A server that doesn't parse HTTP: whatever it reads at once is a request.
package main

import (
	"bytes"
	"fmt"
	"log"
	"math/rand"
	"net"
	"os"
	"time"
)

func serve(connection net.Conn) {
	defer connection.Close()
	piece := make([]byte, 4096)
	for {
		length, err := connection.Read(piece)
		if err != nil {
			return
		}
		_, id, _ := bytes.Cut(piece[:length], []byte("id="))
		id, _, _ = bytes.Cut(id, []byte(" "))
		body := fmt.Sprintf("hello %s, your random number is %016x%016x\n", id, rand.Uint64(), rand.Uint64())
		date := time.Now().UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT")
		fmt.Fprintf(connection, "HTTP/1.1 200 OK\r\nDate: %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s", date, len(body), body)
	}
}

func main() {
	listener, err := net.Listen("tcp", net.JoinHostPort(os.Getenv("HOST"), os.Getenv("PORT")))
	if err != nil {
		log.Fatal(err)
	}
	for {
		connection, err := listener.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go serve(connection)
	}
}
