package messages_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
)

// compressionCodecs are the package functions by coding.
var compressionCodecs = []struct {
	name        string
	append      func(dst, src []byte) []byte
	appendLevel func(dst, src []byte, level int) []byte
	undo        func(dst, src []byte) ([]byte, error)
	write       func(w io.Writer, p []byte) (int, error)
	writeLevel  func(w io.Writer, p []byte, level int) (int, error)
	writeUndo   func(w io.Writer, p []byte) (int, error)
	levels      []int
}{
	{"gzip", gallop.AppendGzipBytes, gallop.AppendGzipBytesLevel, gallop.AppendGunzipBytes, gallop.WriteGzip, gallop.WriteGzipLevel, gallop.WriteGunzip,
		[]int{gallop.CompressNoCompression, gallop.CompressBestSpeed, gallop.CompressBestCompression, gallop.CompressDefaultCompression, gallop.CompressHuffmanOnly, 99}},
	{"deflate", gallop.AppendDeflateBytes, gallop.AppendDeflateBytesLevel, gallop.AppendInflateBytes, gallop.WriteDeflate, gallop.WriteDeflateLevel, gallop.WriteInflate,
		[]int{gallop.CompressNoCompression, gallop.CompressBestSpeed, gallop.CompressBestCompression, gallop.CompressDefaultCompression, gallop.CompressHuffmanOnly, 99}},
	{"br", gallop.AppendBrotliBytes, gallop.AppendBrotliBytesLevel, gallop.AppendUnbrotliBytes, gallop.WriteBrotli, gallop.WriteBrotliLevel, gallop.WriteUnbrotli,
		[]int{gallop.CompressBrotliNoCompression, gallop.CompressBrotliBestSpeed, gallop.CompressBrotliBestCompression, gallop.CompressBrotliDefaultCompression, 99}},
	{"zstd", gallop.AppendZstdBytes, gallop.AppendZstdBytesLevel, gallop.AppendUnzstdBytes, nil, gallop.WriteZstdLevel, gallop.WriteUnzstd,
		[]int{gallop.CompressZstdSpeedNotSet, gallop.CompressZstdBestSpeed, gallop.CompressZstdDefault, gallop.CompressZstdSpeedBetter, gallop.CompressZstdBestCompression, 99}},
}

func TestCompressionRoundTrips(t *testing.T) {
	body := []byte(strings.Repeat("gallop gallops galloping ", 400))
	for _, codec := range compressionCodecs {
		t.Run(codec.name, func(t *testing.T) {
			check := func(src []byte) {
				t.Helper()
				if got, err := codec.undo([]byte("x"), src); err != nil || string(got) != "x"+string(body) {
					t.Errorf("append: %d bytes, %v", len(got), err)
				}
				var b bytes.Buffer
				if n, err := codec.writeUndo(&b, src); err != nil || n != len(body) || !bytes.Equal(b.Bytes(), body) {
					t.Errorf("write: %d bytes, %v", n, err)
				}
			}
			check(codec.append(nil, body))
			check(codec.append([]byte("12"), body)[2:])
			for _, level := range codec.levels {
				check(codec.appendLevel(nil, body, level))
				var b bytes.Buffer
				if n, err := codec.writeLevel(&b, body, level); n != len(body) || err != nil {
					t.Errorf("level %d: wrote %d, %v", level, n, err)
				}
				check(b.Bytes())
			}
			if codec.write != nil {
				var b bytes.Buffer
				if n, err := codec.write(&b, body); n != len(body) || err != nil {
					t.Errorf("wrote %d, %v", n, err)
				}
				check(b.Bytes())
			}
		})
	}
}

func TestDecompressionErrors(t *testing.T) {
	for _, codec := range compressionCodecs {
		good := codec.append(nil, []byte("some body"))
		bomb := codec.append(nil, make([]byte, 4<<20))
		for _, tc := range []struct {
			name string
			src  []byte
			want error // nil: any
		}{
			{"empty", nil, io.ErrUnexpectedEOF},
			{"truncated", good[:len(good)-1], io.ErrUnexpectedEOF},
			{"followed by more", append(bytes.Clone(good), "xyz!"...), nil},
			{"bomb", bomb, gallop.ErrDecompressionRatio},
		} {
			if got, err := codec.undo([]byte("x"), tc.src); err == nil || tc.want != nil && !errors.Is(err, tc.want) || string(got) != "x" {
				t.Errorf("%s %s: %d bytes, %v", codec.name, tc.name, len(got), err)
			}
			if n, err := codec.writeUndo(io.Discard, tc.src); err == nil || tc.want != nil && !errors.Is(err, tc.want) || n > 1<<20 {
				t.Errorf("%s %s: wrote %d bytes, %v", codec.name, tc.name, n, err)
			}
		}
	}
}

func TestDecompressionStopsAt32MiB(t *testing.T) {
	// Noise in every 64th block keeps the ratio under 100.
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	block, seed := make([]byte, 1<<20), uint32(1)
	for i := range block[:1<<15] {
		seed = seed*1664525 + 1013904223
		block[i] = byte(seed >> 24)
	}
	for range 33 {
		z.Write(block)
	}
	z.Close()
	if n, err := gallop.WriteGunzip(io.Discard, b.Bytes()); err != gallop.ErrDecompressedTooLarge || n > 32<<20 {
		t.Errorf("%d bytes, %v", n, err)
	}
}

func TestCompressionLevelsAreThoseOfTheLibraries(t *testing.T) {
	if gallop.CompressNoCompression != gzip.NoCompression || gallop.CompressBestSpeed != gzip.BestSpeed ||
		gallop.CompressBestCompression != gzip.BestCompression || gallop.CompressHuffmanOnly != gzip.HuffmanOnly {
		t.Error("the levels of gzip differ from compress/gzip")
	}
	if gallop.CompressZstdDefault != 2 || gallop.CompressZstdBestCompression != 4 {
		t.Error("the levels of zstd differ")
	}
}
