package nethttp

import (
	"context"
	"net/http/httptrace"
	"net/textproto"

	"github.com/gallop-http/gallop"
)

// traced returns ctx with a gallop trace that tells the httptrace of ctx, if it has one,
// what happens to request.
func traced(ctx context.Context, request *gallop.Request) context.Context {
	t := httptrace.ContextClientTrace(ctx)
	if t == nil {
		return ctx
	}
	g := &gallop.ClientTrace{
		GetConn:           t.GetConn, // package net tells t of lookups and of connecting by itself
		TLSHandshakeStart: t.TLSHandshakeStart, TLSHandshakeDone: t.TLSHandshakeDone,
		WroteHeaders: func() { wroteHeaders(t, request) }, GotFirstByte: t.GotFirstResponseByte,
	}
	if f := t.GotConn; f != nil {
		g.GotConn = func(i gallop.GotConnInfo) {
			f(httptrace.GotConnInfo{Conn: i.Conn, Reused: i.Reused, WasIdle: i.Reused, IdleTime: i.Idle})
		}
	}
	if f := t.PutIdleConn; f != nil {
		g.PutIdleConn = func(string) { f(nil) }
	}
	if f := t.WroteRequest; f != nil {
		g.WroteRequest = func(err error) { f(httptrace.WroteRequestInfo{Err: err}) }
	}
	if t.Got1xxResponse != nil || t.Got100Continue != nil {
		g.GotInterim = func(resp *gallop.Response) { gotInterim(t, resp) }
	}
	return gallop.WithClientTrace(ctx, g)
}

func wroteHeaders(t *httptrace.ClientTrace, request *gallop.Request) {
	if t.WroteHeaderField != nil {
		for name, value := range request.Header.All() {
			t.WroteHeaderField(string(name), []string{string(value)})
		}
	}
	if t.WroteHeaders != nil {
		t.WroteHeaders()
	}
	if t.Wait100Continue != nil && request.MayContinue() {
		t.Wait100Continue()
	}
}

func gotInterim(t *httptrace.ClientTrace, resp *gallop.Response) {
	status := resp.StatusCode()
	if status == gallop.StatusContinue && t.Got100Continue != nil {
		t.Got100Continue()
	}
	if t.Got1xxResponse == nil {
		return
	}
	h := textproto.MIMEHeader{}
	for name, value := range resp.Header.All() {
		h.Add(string(name), string(value))
	}
	t.Got1xxResponse(status, h) // whose error has nobody to go to
}
