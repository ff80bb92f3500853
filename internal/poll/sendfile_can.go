//go:build linux || (darwin && !ios) || dragonfly || freebsd || solaris

package poll

// canSendFile reports whether the system sends files to sockets.
const canSendFile = true
