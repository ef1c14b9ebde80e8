// Prints the lines of files that are no near-copies of a line before them, in this run or in an
// earlier one: the index stays.
//
//	go run new_lines.go INDEX FILE...
package main

// #cgo pkg-config: nearkin
// #include <nearkin.h>
import "C"

import (
	"bufio"
	"fmt"
	"os"
	"unsafe"
)

// The error of a call, freed; nil if it succeeded.
func failure(status C.nk_status, err *C.nk_error) error {
	if status == C.NK_OK {
		return nil
	}
	defer C.nk_free(unsafe.Pointer(err))
	message := C.GoString(C.nk_error_message(err))
	return fmt.Errorf("%s (%s)", message, C.GoString(C.nk_status_advice(C.int32_t(status))))
}

// The address and the length of a text. The library reads it during the call only.
func lent(text string) (*C.char, C.size_t) {
	if text == "" {
		return nil, 0
	}
	bytes := []byte(text)
	return (*C.char)(unsafe.Pointer(&bytes[0])), C.size_t(len(bytes))
}

type index struct {
	handle *C.nk_index
	query  *C.nk_query
}

func open(path string) (*index, error) {
	var err *C.nk_error
	var params *C.nk_params
	data, size := lent("preset=short")
	if e := failure(C.nk_params_from_text(data, size, &params, &err), err); e != nil {
		return nil, e
	}
	defer C.nk_free(unsafe.Pointer(params))
	opened := &index{}
	data, size = lent(path)
	status := C.nk_index_open_or_create(data, size, params, nil, &opened.handle, &err)
	if e := failure(status, err); e != nil {
		return nil, e
	}
	data, size = lent("threshold=0.8")
	return opened, failure(C.nk_query_from_text(data, size, &opened.query, &err), err)
}

// Whether a text is new, and stored now. A blank one is not.
func (i *index) add(key, text string) (bool, error) {
	var err *C.nk_error
	var signature *C.nk_signature
	var admission *C.nk_admission
	var view C.nk_admission_view
	of := (*C.nk_readable)(unsafe.Pointer(i.handle))
	data, size := lent(text)
	status := C.nk_sketch_text(of, data, size, &signature, &err)
	if status == C.NK_EMPTY {
		C.nk_free(unsafe.Pointer(err))
		return false, nil
	}
	if e := failure(status, err); e != nil {
		return false, e
	}
	defer C.nk_free(unsafe.Pointer(signature))
	data, size = lent(key)
	status = C.nk_index_admit(i.handle, unsafe.Pointer(data), size, signature, nil, 0, i.query,
		&admission, &err)
	if e := failure(status, err); e != nil {
		return false, e
	}
	defer C.nk_free(unsafe.Pointer(admission))
	e := failure(C.nk_admission_get(admission, &view, &err), err)
	return view.decision == C.NK_ADMITTED, e
}

func (i *index) close() error {
	var err *C.nk_error
	defer C.nk_free(unsafe.Pointer(i.handle))
	defer C.nk_free(unsafe.Pointer(i.query))
	return failure(C.nk_index_close(i.handle, &err), err)
}

func run(path string, files []string) error {
	lines, err := open(path)
	if err != nil {
		return err
	}
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		scanner := bufio.NewScanner(file)
		scanner.Buffer(nil, 1<<24)
		for number := 1; scanner.Scan(); number++ {
			isNew, err := lines.add(fmt.Sprintf("%s:%d", name, number), scanner.Text())
			if err != nil {
				return err
			}
			if isNew {
				fmt.Println(scanner.Text())
			}
		}
		file.Close()
		if scanner.Err() != nil {
			return scanner.Err()
		}
	}
	return lines.close()
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: new_lines INDEX FILE...")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
