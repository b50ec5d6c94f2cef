// Protocol Buffers, with the messages that its compiler makes of the schema.
package main

import (
	"google.golang.org/protobuf/proto"

	// Where a build puts what it makes.
	"codec/build/schema"
	"works"
)

func message(row works.Row) *schema.DnsRecord {
	made := &schema.DnsRecord{Key: &row.Key, Value: &row.Value, First: &row.First, Last: &row.Last}
	if row.Type != works.DefaultType {
		made.Type = &row.Type
	}
	if row.TTL != works.DefaultTTL {
		made.Ttl = &row.TTL
	}
	return made
}

func row(made *schema.DnsRecord) works.Row {
	return works.Row{
		Key:   made.GetKey(),
		Value: made.GetValue(),
		Type:  made.GetType(),
		TTL:   made.GetTtl(),
		First: made.GetFirst(),
		Last:  made.GetLast(),
	}
}

func encode(row works.Row) ([]byte, error) {
	return proto.Marshal(message(row))
}

func decode(bytes []byte) (works.Row, error) {
	var made schema.DnsRecord
	err := proto.Unmarshal(bytes, &made)
	return row(&made), err
}

func encodeAll(rows []works.Row) ([]byte, error) {
	records := make([]*schema.DnsRecord, len(rows))
	for at, row := range rows {
		records[at] = message(row)
	}
	return proto.Marshal(&schema.DnsResponse{Records: records})
}

func decodeAll(bytes []byte) ([]works.Row, error) {
	var made schema.DnsResponse
	err := proto.Unmarshal(bytes, &made)
	rows := make([]works.Row, len(made.Records))
	for at, record := range made.Records {
		rows[at] = row(record)
	}
	return rows, err
}

func main() {
	works.Run(works.Form[works.Row]{Encode: encode, Decode: decode},
		works.Form[[]works.Row]{Encode: encodeAll, Decode: decodeAll})
}
