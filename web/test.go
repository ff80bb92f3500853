package web

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
)

// Test sends a request through the App without a socket and returns the response. Use Test in tests of an App. The request passes
// through Config.Server, with its limits and timeouts, like a request from the network. If the URL has no host, Test uses
// example.com.
//
// The body of the response is in memory, so you need not close it. Test skips interim responses (RFC 9110 §15.2). If the context of
// the request is done before the response is complete, Test returns an error.
func (a *App) Test(request *http.Request) (*http.Response, error) {
	serve := a.server().ServeConn
	client, server := net.Pipe()
	defer client.Close()
	stop := context.AfterFunc(request.Context(), func() { client.Close() })
	defer stop()

	request = request.Clone(request.Context())
	if request.Host == "" && request.URL.Host == "" {
		request.Host = "example.com"
	}
	request.Close = true // so that the server closes its end of the pipe
	go func() {
		serve(server)
		server.Close()
	}()
	written := make(chan error, 1)
	go func() { written <- request.Write(client) }()

	response, err := readAnswer(client, request)
	if err != nil {
		client.Close()
		if failed := <-written; request.Context().Err() == nil && failed != nil {
			err = failed
		}
	}
	return response, err
}

// readAnswer reads a final response and its body. 101 is final, because another protocol follows.
func readAnswer(conn net.Conn, request *http.Request) (*http.Response, error) {
	r := bufio.NewReader(conn)
	response, err := http.ReadResponse(r, request)
	for err == nil && response.StatusCode < 200 && response.StatusCode != http.StatusSwitchingProtocols {
		response, err = http.ReadResponse(r, request)
	}
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(response.Body)
	response.Body.Close()
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, err
}
