package dial

import "encoding/binary"

// Values of SOCKS 5 messages (RFC 1928 and RFC 1929).
const (
	socksVersion    = 5
	socksConnect    = 1
	socksIPv4       = 1
	socksName       = 3
	socksIPv6       = 4
	socksNoAuth     = 0
	socksByPassword = 2
	socksNoMethod   = 0xFF

	socksPasswordVersion = 1
)

// socksReply is the reason why a SOCKS proxy refused (RFC 1928 §6).
type socksReply byte

var socksReplies = [...]string{
	1: "general failure",
	2: "connection not allowed by its rules",
	3: "network unreachable",
	4: "host unreachable",
	5: "connection refused",
	6: "TTL expired",
	7: "command not supported",
	8: "address type not supported",
}

func (r socksReply) Error() string {
	if r == 0 || int(r) >= len(socksReplies) {
		return "unknown failure"
	}
	return socksReplies[r]
}

// Socks5 asks a SOCKS proxy for a tunnel. It sends each message only after the reply to the message before.
func (t *Tunnel) Socks5(to Target, user, password string) error {
	byPassword := user != ""
	methods := []byte{socksNoAuth}
	if byPassword {
		methods = append(methods, socksByPassword)
	}
	method, err := t.ask(append([]byte{socksVersion, byte(len(methods))}, methods...), parseSocksMethod)
	switch {
	case err != nil:
		return err
	case method == socksByPassword && byPassword:
		status, err := t.ask(appendSocksPassword(nil, user, password), parseSocksStatus)
		if err != nil {
			return err
		}
		if status != 0 {
			return ErrProxyRejects
		}
	case method == socksNoMethod:
		return ErrProxyRejects
	case method != socksNoAuth:
		return ErrSocksReply
	}
	reply, err := t.ask(appendSocksConnect(nil, to), parseSocksReply)
	if err == nil && reply != 0 {
		err = socksReply(reply)
	}
	return err
}

// CheckSocksPassword refuses a user name or password that RFC 1929 cannot express.
func CheckSocksPassword(user, password string) error {
	if len(user) > 255 || len(password) > 255 || user == "" && password != "" {
		return ErrProxyCredentials
	}
	return nil
}

// ask sends a message and returns the value that parse finds in the reply.
func (t *Tunnel) ask(message []byte, parse func([]byte) (byte, int, error)) (byte, error) {
	if _, err := t.Conn.Write(message); err != nil {
		return 0, err
	}
	for {
		value, n, err := parse(t.buf)
		if n > 0 || err != nil {
			t.buf = t.buf[n:]
			return value, err
		}
		if err := t.fill(); err != nil {
			return 0, err
		}
	}
}

// Each parser returns n, the length of the message at the beginning of b. If the message is incomplete, n is 0.

// parseSocksMethod parses the method that the proxy chose (RFC 1928 §3).
func parseSocksMethod(b []byte) (method byte, n int, err error) {
	if len(b) > 0 && b[0] != socksVersion {
		return 0, 0, ErrSocksReply
	}
	if len(b) < 2 {
		return 0, 0, nil
	}
	return b[1], 2, nil
}

// parseSocksStatus parses the status of the password, which is 0 if the password was right (RFC 1929 §2).
func parseSocksStatus(b []byte) (status byte, n int, err error) {
	if len(b) > 0 && b[0] != socksPasswordVersion {
		return 0, 0, ErrSocksReply
	}
	if len(b) < 2 {
		return 0, 0, nil
	}
	return b[1], 2, nil
}

// parseSocksReply parses the reply to a request, which is 0 if the proxy has connected, and skips the address that
// follows (RFC 1928 §6). For a refusal, parseSocksReply ignores the rest of b, because a refusal may be shorter.
func parseSocksReply(b []byte) (reply byte, n int, err error) {
	if len(b) > 0 && b[0] != socksVersion {
		return 0, 0, ErrSocksReply
	}
	if len(b) >= 2 && b[1] != 0 {
		return b[1], len(b), nil
	}
	if len(b) < 5 {
		return 0, 0, nil
	}
	n = 4 + 2 // without the address
	switch b[3] {
	case socksIPv4:
		n += 4
	case socksIPv6:
		n += 16
	case socksName:
		n += 1 + int(b[4])
	default:
		return 0, 0, ErrSocksReply
	}
	if len(b) < n {
		return 0, 0, nil
	}
	return 0, n, nil
}

// appendSocksPassword appends the request of RFC 1929 §2. The user name and the password have at most 255 bytes each.
func appendSocksPassword(dst []byte, user, password string) []byte {
	dst = append(dst, socksPasswordVersion, byte(len(user)))
	dst = append(dst, user...)
	dst = append(dst, byte(len(password)))
	return append(dst, password...)
}

// appendSocksConnect appends the request of RFC 1928 §4. The proxy looks up names.
func appendSocksConnect(dst []byte, to Target) []byte {
	dst = append(dst, socksVersion, socksConnect, 0)
	switch {
	case to.name != "":
		dst = append(dst, socksName, byte(len(to.name)))
		dst = append(dst, to.name...)
	case to.ip.Is4():
		dst = append(dst, socksIPv4)
		dst = append(dst, to.ip.AsSlice()...)
	default:
		dst = append(dst, socksIPv6)
		dst = append(dst, to.ip.AsSlice()...)
	}
	return binary.BigEndian.AppendUint16(dst, to.port)
}
