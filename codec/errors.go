package codec

import "strconv"

// Error is a decoding error with its position in the input. A [StreamDecoder] returns an Error if
// it knows the position.
type Error struct {
	// Offset is the number of bytes that had been read when the error was found.
	Offset int64
	// Path locates the value in the input, such as "[3].name". Path is empty if the location is unknown.
	Path string
	// Err is the cause.
	Err error
}

// Error returns the position, followed by the text of Err.
func (e *Error) Error() string {
	place := "offset " + strconv.FormatInt(e.Offset, 10)
	if e.Path != "" {
		place = strconv.Quote(e.Path) + ", " + place
	}
	return "codec: at " + place + ": " + e.Err.Error()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }
