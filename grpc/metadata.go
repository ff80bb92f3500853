package gallopgrpc

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"

	"google.golang.org/grpc/metadata"
)

// fields are the headers of a request that belong to its metadata. Each of them starts with two lengths: of the name in two
// bytes, and of the value in four bytes. The name in lower case and the value follow. Most handlers never ask for metadata, so
// a map is made only for those that do.
type fields []byte

const fieldStart = 2 + 4

// add appends a field. name is in lower case.
func (f *fields) add(name, value []byte) {
	*f = binary.LittleEndian.AppendUint16(*f, uint16(len(name)))
	*f = binary.LittleEndian.AppendUint32(*f, uint32(len(value)))
	*f = append(append(*f, name...), value...)
}

// appendLower appends name in lower case.
func appendLower(dst, name []byte) []byte {
	for _, c := range name {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	return dst
}

// next returns the first field and the fields behind it.
func (f fields) next() (name, value string, rest fields) {
	n, v := int(binary.LittleEndian.Uint16(f)), int(binary.LittleEndian.Uint32(f[2:]))
	f = f[fieldStart:]
	return string(f[:n]), string(f[n : n+v]), f[n+v:]
}

// metadata returns the fields as a map. Binary values were checked before.
func (f fields) metadata() metadata.MD {
	md := make(metadata.MD, 8)
	for len(f) > 0 {
		var name, value string
		name, value, f = f.next()
		if !isBinary(name) {
			md[name] = append(md[name], value)
			continue
		}
		for one := range strings.SplitSeq(value, ",") {
			if b, err := decodeBinary(one); err == nil {
				md[name] = append(md[name], string(b))
			}
		}
	}
	return md
}

// isReserved reports whether a header is not metadata.
func isReserved(name string) bool {
	switch name {
	case "content-type", "user-agent", "te", "grpc-message-type", "grpc-encoding", "grpc-message", "grpc-status",
		"grpc-timeout", "grpc-status-details-bin":
		return true
	}
	return name == "" || name[0] == ':'
}

// isHTTPs reports whether the HTTP server decides about a header.
func isHTTPs(name string) bool {
	switch name {
	case "connection", "content-length", "host", "keep-alive", "proxy-connection", "trailer", "transfer-encoding", "upgrade":
		return true
	}
	return false
}

// isBinary reports whether the values with this name are encoded in base64.
func isBinary(name string) bool { return strings.HasSuffix(name, "-bin") }

// decodeBinary decodes a binary value, with or without padding.
func decodeBinary(value string) ([]byte, error) {
	value = strings.Trim(value, " \t")
	return base64.RawStdEncoding.DecodeString(strings.TrimRight(value, "="))
}

// checkBinary returns an error if one of the values of a binary header is malformed.
func checkBinary(value string) error {
	for one := range strings.SplitSeq(value, ",") {
		if _, err := decodeBinary(one); err != nil {
			return err
		}
	}
	return nil
}

// eachField calls f for each value of md, as it is sent.
func eachField(md metadata.MD, f func(name, value string)) {
	for name, values := range md {
		if isReserved(name) || isHTTPs(name) {
			continue
		}
		for _, value := range values {
			if isBinary(name) {
				value = base64.RawStdEncoding.EncodeToString([]byte(value))
			}
			f(name, value)
		}
	}
}

// checkMetadata returns an error if md cannot be sent.
func checkMetadata(md metadata.MD) error {
	for name, values := range md {
		if err := checkName(name); err != nil {
			return err
		}
		for _, value := range values {
			if !isBinary(name) && !isPrintable(value) {
				return fmt.Errorf("the value of the header %q has characters that are not printable ASCII", name)
			}
		}
	}
	return nil
}

// checkName returns an error if name is not the name of a header.
func checkName(name string) error {
	if name == "" {
		return fmt.Errorf("a header has no name")
	}
	if name[0] == ':' { // skipped later
		return nil
	}
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '_', c == '.':
		default:
			return fmt.Errorf("the header name %q has characters other than 0-9 a-z - _ .", name)
		}
	}
	return nil
}

func isPrintable(value string) bool {
	for i := range len(value) {
		if value[i] < ' ' || value[i] > '~' {
			return false
		}
	}
	return true
}
