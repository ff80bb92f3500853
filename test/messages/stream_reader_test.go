package messages_test

import (
	"bufio"
	"errors"
	"io"
	"testing"
	"testing/synctest"

	"github.com/gallop-http/gallop"
)

func TestStreamReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := gallop.NewStreamReader(func(w *bufio.Writer) { w.WriteString("ab"); w.Flush(); w.WriteString("c") })
		if got, err := io.ReadAll(r); string(got) != "abc" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Close ends the goroutine, which synctest would otherwise find.
func TestStreamReaderClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := false
		r := gallop.NewStreamReader(func(w *bufio.Writer) {
			defer func() { ended = true }()
			for {
				if _, err := w.WriteString("abc"); err != nil {
					return
				}
			}
		})
		io.ReadFull(r, make([]byte, 5))
		r.Close()
		synctest.Wait()
		if !ended {
			t.Error("the writer goes on")
		}
		if rest, err := io.ReadAll(r); len(rest) > 0 || err != nil {
			t.Errorf("read %q, %v after Close", rest, err)
		}
	})
}

// A Read that waits when Close is called ends in io.EOF, too.
func TestStreamReaderCloseWhileReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := make(chan struct{})
		defer close(over)
		r := gallop.NewStreamReader(func(w *bufio.Writer) { <-over })
		done := make(chan error)
		go func() {
			_, err := r.Read(make([]byte, 1))
			done <- err
		}()
		synctest.Wait()
		r.Close()
		if err := <-done; err != io.EOF {
			t.Errorf("Read: %v", err)
		}
	})
}

func TestStreamReaderPanic(t *testing.T) {
	r := gallop.NewStreamReader(func(w *bufio.Writer) { w.WriteString("abc"); panic("test") })
	defer r.Close()
	if _, err := io.ReadAll(r); !errors.As(err, new(*gallop.ErrBodyStreamWritePanic)) {
		t.Errorf("error %v", err)
	}
}
