package web

import (
	"encoding/json"

	"github.com/gallop-http/gallop"
)

const typeProblem = "application/problem+json"

// problem is the body of a response with problem details (RFC 9457). The member type is left out, which means about:blank.
type problem struct {
	Title     string         `json:"title"`
	Status    int            `json:"status"`
	Detail    string         `json:"detail,omitempty"`
	RequestID string         `json:"request_id,omitempty"`
	Errors    []problemField `json:"errors,omitempty"`
}

// problemField describes a value of the request that does not fit.
type problemField struct {
	In     Source `json:"in"`
	Name   string `json:"name,omitempty"`
	Detail string `json:"detail"`
}

// ProblemErrorHandler responds with problem details (RFC 9457), as application/problem+json. Set ProblemErrorHandler as
// Config.ErrorHandler, or pass it to Router.OnError for a single group.
//
//	{"title":"Bad Request","status":400,"detail":"query \"page\" is not a number","errors":[{"in":"query","name":"page","detail":"..."}]}
//
// The status, the message and the logging are the same as with [DefaultErrorHandler]. The members of the JSON object are:
//
//   - title: the standard text of the status. The object has no member "type", so the status identifies the problem (RFC 9457
//     §4.2.1).
//   - status: the status of the response.
//   - detail: Error.Message, unless the message is the same as title.
//   - request_id: the result of Ctx.RequestID, if the request has an ID.
//   - errors: an array with one object, if the cause is a [BindError]. The object describes the value that could not be bound.
//     In the object, "in" is BindError.Source and "name" is BindError.Field.
func ProblemErrorHandler(c *Ctx, err error) {
	status, text := c.publicError(err)
	p := problem{Title: gallop.StatusMessage(status), Status: status, RequestID: c.RequestID()}
	if text != p.Title {
		p.Detail = text
	}
	if wrong := asBindError(err); wrong != nil && status < 500 {
		p.Errors = []problemField{{In: wrong.Source, Name: wrong.Field, Detail: wrong.reasonText()}}
	}
	body, err := json.Marshal(p)
	if err != nil { // impossible: strings and numbers can always be encoded
		body = nil
	}
	c.forgetType()
	c.Status(status).Type(typeProblem)
	c.request.SetBody(body)
}
