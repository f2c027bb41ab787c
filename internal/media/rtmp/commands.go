package rtmp

import (
	"encoding/binary"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/bluenviron/gortmplib/pkg/amf0"
)

// Status codes that clients check.
const (
	codeConnected     = "NetConnection.Connect.Success"
	codeConnectDenied = "NetConnection.Connect.Rejected"
	codeShutdown      = "NetConnection.Connect.AppShutdown"
	codePublishStart  = "NetStream.Publish.Start"
	codeBadName       = "NetStream.Publish.BadName"
	codeDenied        = "NetStream.Publish.Denied"
	codePublishFailed = "NetStream.Publish.Failed"
	codePlayFailed    = "NetStream.Play.Failed"
	codeUnpublished   = "NetStream.Unpublish.Success"
)

const (
	// windowSize is the number of bytes after which either side expects an acknowledgement.
	windowSize = 2_500_000
	// outChunkSize is the largest body of a message of the server.
	outChunkSize = 4096
	streamID     = 1
	maxKey       = 512
	// maxDescription keeps a status within one chunk.
	maxDescription = 512

	chunkStreamControl = 2
	chunkStreamCommand = 3
	chunkStreamStatus  = 5
)

// command is a decoded command message.
type command struct {
	name        string
	transaction float64
	object      amf0.Object // the command object, nil if there is none
	args        []any       // the values after it
}

// parseCommand decodes a command message; ok is false when it has no name.
func parseCommand(kind byte, body []byte) (command, bool) {
	// The AMF3 variant is a zero byte and AMF0, unless AMF3 was negotiated.
	if kind == typeCommandAMF3 && len(body) > 0 && body[0] == 0 {
		body = body[1:]
	}
	values := parseAMF(body)
	if len(values) == 0 {
		return command{}, false
	}
	var c command
	if c.name, _ = values[0].(string); c.name == "" {
		return command{}, false
	}
	if len(values) > 1 {
		c.transaction, _ = values[1].(float64)
	}
	if len(values) > 2 {
		c.object, _ = values[2].(amf0.Object)
		c.args = values[3:]
	}
	return c, true
}

// text returns the i-th argument if it is a string.
func (c command) text(i int) string {
	if i >= len(c.args) {
		return ""
	}
	s, _ := c.args[i].(string)
	return s
}

// splitApp splits a client's application into its name, the path after the name, and the query.
func splitApp(s string) (app, path string, query url.Values) {
	s, raw, _ := strings.Cut(s, "?")
	app, path, _ = strings.Cut(s, "/")
	query, _ = url.ParseQuery(raw) // the valid part of it
	return app, path, query
}

// streamKey returns the key and the query from the forms that encoders use: `key`, `key?query`,
// `app/key`, `?key=key`, and a part of the path in the application.
func streamKey(app, path, name string, query url.Values) (string, url.Values) {
	name, raw, _ := strings.Cut(name, "?")
	more, _ := url.ParseQuery(raw)
	all := url.Values{}
	for _, q := range []url.Values{query, more} {
		for k, v := range q {
			all[k] = append(all[k], v...)
		}
	}
	key := strings.TrimPrefix(name, app+"/")
	if path = strings.Trim(path, "/"); path != "" {
		key = strings.TrimSuffix(path+"/"+key, "/")
	}
	if key == "" {
		key = all.Get("key")
	}
	return key, all
}

// replies collects messages of the server, to be written at once.
type replies []byte

func (r *replies) control(kind byte, body ...byte) {
	*r = appendMessage(*r, chunkStreamControl, kind, 0, body)
}

func (r *replies) number(kind byte, n uint32) {
	r.control(kind, binary.BigEndian.AppendUint32(nil, n)...)
}

func (r *replies) command(chunkStream byte, stream uint32, values ...any) {
	body, err := amf0.Data(values).Marshal()
	if err != nil || len(body) > outChunkSize {
		return // can't happen with the server's own values
	}
	*r = appendMessage(*r, chunkStream, typeCommandAMF0, stream, body)
}

// connected answers connect. The server's limits precede the result.
func (r *replies) connected(transaction float64, enhanced bool) {
	r.number(typeWindowAckSize, windowSize)
	r.control(typePeerBandwidth, append(binary.BigEndian.AppendUint32(nil, windowSize), 2)...)
	r.number(typeSetChunkSize, outChunkSize)
	info := status("status", codeConnected, "Connected.")
	info = append(info, amf0.ObjectEntry{Key: "objectEncoding", Value: float64(0)})
	if enhanced {
		info = append(info, amf0.ObjectEntry{
			Key: "fourCcList", Value: amf0.StrictArray{"avc1", "hvc1", "mp4a", "Opus"},
		})
	}
	r.command(chunkStreamCommand, 0, "_result", transaction, amf0.Object{
		{Key: "fmsVer", Value: "FMS/3,0,1,123"},
		{Key: "capabilities", Value: float64(31)},
	}, info)
}

// connectRefused refuses a connect.
func (r *replies) connectRefused(transaction float64, description string) {
	r.number(typeSetChunkSize, outChunkSize)
	r.command(chunkStreamCommand, 0, "_error", transaction, nil, status("error", codeConnectDenied, description))
}

// result answers a call with one value.
func (r *replies) result(transaction float64, value any) {
	if transaction != 0 {
		r.command(chunkStreamCommand, 0, "_result", transaction, nil, value)
	}
}

// published confirms an accepted publish.
func (r *replies) published() {
	const streamBegin = 0
	r.control(typeUserControl, 0, streamBegin, 0, 0, 0, streamID)
	r.status("status", codePublishStart, "Publishing.")
}

// status reports the state of the stream.
func (r *replies) status(level, code, description string) {
	r.command(chunkStreamStatus, streamID, "onStatus", float64(0), nil, status(level, code, description))
}

// pong answers a ping request with the time in it.
func (r *replies) pong(request []byte) {
	const pingResponse = 7
	r.control(typeUserControl, append([]byte{0, pingResponse}, request...)...)
}

func status(level, code, description string) amf0.Object {
	if len(description) > maxDescription {
		cut := maxDescription
		for cut > 0 && !utf8.RuneStart(description[cut]) {
			cut--
		}
		description = description[:cut]
	}
	return amf0.Object{
		{Key: "level", Value: level},
		{Key: "code", Value: code},
		{Key: "description", Value: description},
	}
}
