package coding

import (
	"bytes"
	"io"
	"slices"
	"sync"

	"github.com/gallop-http/gallop/internal/bufpool"
)

// AppendDecode appends to dst what src decodes to when the codings of list are undone within limits. src must not
// overlap dst's spare capacity. On an error it returns dst unchanged, though perhaps with more capacity. The errors
// are those of Reader.
//
// dst grows with the decoded bytes. If src announces its size, AppendDecode trusts the announcement only up to what
// the length of src makes likely.
func AppendDecode(dst, src []byte, list List, limits Limits) ([]byte, error) {
	if list.n == 1 && list.codings[0] == Zstd {
		if out, done, err := appendUnzstd(dst, src, limits.withDefaults()); done {
			return out, err
		}
	}
	m := acquireMemory(list, src, limits)
	defer m.release()
	out := dst
	for {
		if len(out) == cap(out) {
			out = slices.Grow(out, nextRoom(len(src), len(out)-len(dst)))
		}
		n, err := m.Read(out[len(out):cap(out)])
		out = out[:len(out)+n]
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return out[:len(dst)], err
		}
	}
}

// nextRoom returns how much room to add for a body of size encoded bytes of which done bytes are decoded: a multiple
// of the input, or done again.
func nextRoom(size, done int) int {
	return max(512, 4*min(size, ratioFloor), done)
}

// Decode writes to w what src decodes to when the codings of list are undone within limits, and returns the number of
// bytes written. An error of w is returned unchanged. If a body turns out to be corrupt or too large, its beginning
// was written already.
func Decode(w io.Writer, src []byte, list List, limits Limits) (int64, error) {
	m := acquireMemory(list, src, limits)
	defer m.release()
	buf := bufpool.Get(copySize)
	defer bufpool.Put(buf)
	total := int64(0)
	for {
		n, err := m.Read(buf[:cap(buf)])
		if n > 0 {
			written, werr := writeAll(w, buf[:n])
			total += int64(written)
			if werr != nil {
				return total, werr
			}
		}
		if err == io.EOF {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}

const copySize = 32 << 10

// writeAll writes p to w. It returns io.ErrShortWrite if w accepts less, which the encoders do not check.
func writeAll(w io.Writer, p []byte) (int, error) {
	n, err := w.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	return n, err
}

// memory is a Reader of a complete body, so the ratio limit applies to the whole body.
type memory struct {
	*Reader
	src bytes.Reader
}

var memories = sync.Pool{New: func() any { return new(memory) }}

func acquireMemory(list List, src []byte, limits Limits) *memory {
	m := memories.Get().(*memory)
	m.src.Reset(src)
	m.Reader = acquireReader(list, limits)
	m.source = source{r: &m.src, n: int64(len(src)), whole: true}
	return m
}

func (m *memory) release() {
	ReleaseReader(m.Reader)
	m.Reader = nil
	m.src.Reset(nil)
	memories.Put(m)
}
