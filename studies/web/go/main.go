// A hello-world server on net/http, as its documentation shows one.
package main

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"log"
	"math/rand"
	"net"
	"net/http"
	"os"
)

const idLengthMax = 64

func hello(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	id := r.URL.Query().Get("id")
	if !isID(id) {
		http.Error(w, "the id has to be 1 to 64 letters and digits", http.StatusBadRequest)
		return
	}
	var number [16]byte
	binary.LittleEndian.PutUint64(number[:8], rand.Uint64())
	binary.LittleEndian.PutUint64(number[8:], rand.Uint64())
	w.Header().Set("Content-Type", "text/plain")
	fmt.Fprintf(w, "hello %s, your random number is %s\n", id, hex.EncodeToString(number[:]))
}

// isID tells whether an id is safe to echo into any kind of text.
func isID(id string) bool {
	if len(id) < 1 || len(id) > idLengthMax {
		return false
	}
	for _, c := range []byte(id) {
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

func main() {
	http.HandleFunc("/hello", hello)
	address := net.JoinHostPort(os.Getenv("HOST"), os.Getenv("PORT"))
	log.Fatal(http.ListenAndServe(address, nil))
}
