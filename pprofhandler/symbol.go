package pprofhandler

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"strings"
)

// maxSymbols is how many bytes of program counters are read from the body of a request.
const maxSymbols = 1 << 20

// serveSymbols serves a line with the name of a function for each program counter. The program counters are in the body of a POST or in
// the query, separated by +. The first line says that symbols are available.
func serveSymbols(w http.ResponseWriter, r *http.Request) {
	asked := r.URL.RawQuery
	var err error
	if r.Method == http.MethodPost {
		var body []byte
		body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, maxSymbols))
		asked = string(body)
	}
	var names strings.Builder
	names.WriteString("num_symbols: 1\n")
	for word := range strings.SplitSeq(asked, "+") {
		pc, _ := strconv.ParseUint(word, 0, 64)
		if f := runtime.FuncForPC(uintptr(pc)); pc != 0 && f != nil {
			fmt.Fprintf(&names, "%#x %s\n", pc, f.Name())
		}
	}
	if err != nil {
		fmt.Fprintf(&names, "the body cannot be read: %v\n", err)
	}
	startText(w)
	io.WriteString(w, names.String())
}
