package codec

import "strconv"

// Error says where in a text an error is. A StreamDecoder returns it if it knows the place.
type Error struct {
	Offset int64  // number of bytes that were read before the error was found
	Path   string // path to the value, such as "[3].name"; empty if unknown
	Err    error  // the error itself
}

// Error returns the text of Err with the place in front.
func (e *Error) Error() string {
	place := "offset " + strconv.FormatInt(e.Offset, 10)
	if e.Path != "" {
		place = strconv.Quote(e.Path) + ", " + place
	}
	return "codec: at " + place + ": " + e.Err.Error()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }
