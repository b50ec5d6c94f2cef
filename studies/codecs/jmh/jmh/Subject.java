package jmh;

import org.openjdk.jmh.infra.Blackhole;

/** What is measured: a contender's codec, with its records. */
public interface Subject {
    int records();

    /** Encodes a record, and reads all of its fields, as the study's own work does. */
    void encode(int place, Blackhole sink) throws Exception;

    /** Decodes a record, and reads all of its fields. */
    void decode(int place, Blackhole sink) throws Exception;
}
