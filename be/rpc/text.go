package rpc

import (
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// text makes text of what is none in the strings of an answer, and returns it. An
// error has whatever a path, a certificate or a broker says, and a message whatever
// its producer wrote; gRPC fails an answer with such bytes as a whole.
func text[M proto.Message](answer M) M {
	makeText(answer.ProtoReflect())
	return answer
}

func makeText(m protoreflect.Message) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsMap():
			makeTextOfMap(v.Map())
		case f.Kind() == protoreflect.StringKind && !f.IsList():
			m.Set(f, textOf(v))
		case f.Kind() == protoreflect.StringKind:
			for i := range v.List().Len() {
				v.List().Set(i, textOf(v.List().Get(i)))
			}
		case f.IsList() && f.Message() != nil:
			for i := range v.List().Len() {
				makeText(v.List().Get(i).Message())
			}
		case f.Message() != nil:
			makeText(v.Message())
		}
		return true
	})
}

// makeTextOfMap is for the one kind of map that there is, of strings by strings.
func makeTextOfMap(m protoreflect.Map) {
	m.Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
		if utf8.ValidString(k.String()) {
			m.Set(k, textOf(v))
		} else {
			m.Clear(k)
		}
		return true
	})
}

func textOf(v protoreflect.Value) protoreflect.Value {
	return protoreflect.ValueOfString(strings.ToValidUTF8(v.String(), "\uFFFD"))
}
