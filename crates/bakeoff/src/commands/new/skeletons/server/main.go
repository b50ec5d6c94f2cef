package main

import (
	"log"
	"net"
	"net/http"
	"os"
)

// The study asks: {contract}
func answer(w http.ResponseWriter, r *http.Request) {
	// FILL IN: this answers 200 with the same text to every request.
	w.Header().Set("Content-Type", "text/plain")
	w.Write([]byte("to be filled in\n"))
}

func main() {
	address := net.JoinHostPort(os.Getenv("HOST"), os.Getenv("PORT"))
	log.Fatal(http.ListenAndServe(address, http.HandlerFunc(answer)))
}
