// JSON, with the standard library's package.
package main

import (
	"encoding/json"

	"works"
)

func form[T any]() works.Form[T] {
	return works.Form[T]{
		Encode: func(thing T) ([]byte, error) { return json.Marshal(thing) },
		Decode: func(bytes []byte) (thing T, err error) {
			err = json.Unmarshal(bytes, &thing)
			return thing, err
		},
	}
}

func main() {
	works.Run(form[works.Row](), form[[]works.Row]())
}
