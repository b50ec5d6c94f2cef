/* Berkeley DB behind plain functions: its own are members of structures, whose layout only its
 * header knows. What is decided is decided in mod.rs; here is what C has to say. */

#include <db.h>
#include <stdlib.h>
#include <string.h>

struct store_bdb {
	DB_ENV *env;
	DB *db;
};

/* Room for a value, which Berkeley DB makes larger where it has to. */
struct store_bdb_value {
	void *bytes;
	u_int32_t length;
};

/* Locks that one transaction of many writes may hold, and objects that they are on. */
enum { LOCKS_MAX = 100000 };

void store_bdb_close(struct store_bdb *it)
{
	if (it->db != NULL)
		it->db->close(it->db, 0);
	if (it->env != NULL)
		it->env->close(it->env, 0);
	free(it);
}

int store_bdb_open(const char *dir, u_int32_t cache_mib, u_int32_t log_buffer_kib, int sync,
    struct store_bdb **opened)
{
	/* One process has the folder: regions in memory of its own need no files. Recovery does
	 * nothing where there is nothing to recover. */
	const u_int32_t flags = DB_CREATE | DB_INIT_MPOOL | DB_INIT_TXN | DB_INIT_LOG |
	    DB_INIT_LOCK | DB_THREAD | DB_PRIVATE | DB_RECOVER;
	struct store_bdb *it = calloc(1, sizeof *it);
	int error;

	if (it == NULL)
		return (DB_RUNRECOVERY);
	if ((error = db_env_create(&it->env, 0)) != 0) {
		it->env = NULL;
		goto failed;
	}
	if ((error = it->env->set_cachesize(it->env, cache_mib / 1024,
	    (cache_mib % 1024) << 20, 1)) != 0 ||
	    (error = it->env->set_lg_bsize(it->env, log_buffer_kib << 10)) != 0 ||
	    /* A file of the log has to be larger than what is buffered of it. */
	    (error = it->env->set_lg_max(it->env, 4 * (log_buffer_kib << 10))) != 0 ||
	    (error = it->env->set_lk_max_locks(it->env, LOCKS_MAX)) != 0 ||
	    (error = it->env->set_lk_max_objects(it->env, LOCKS_MAX)) != 0 ||
	    (error = it->env->set_lk_detect(it->env, DB_LOCK_DEFAULT)) != 0 ||
	    (!sync && (error = it->env->set_flags(it->env, DB_TXN_NOSYNC, 1)) != 0) ||
	    (error = it->env->log_set_config(it->env, DB_LOG_AUTO_REMOVE, 1)) != 0 ||
	    (error = it->env->open(it->env, dir, flags, 0644)) != 0 ||
	    (error = db_create(&it->db, it->env, 0)) != 0 ||
	    (error = it->db->open(it->db, NULL, "store.db", NULL, DB_BTREE,
	    DB_CREATE | DB_AUTO_COMMIT | DB_THREAD, 0644)) != 0)
		goto failed;
	*opened = it;
	return (0);

failed:
	store_bdb_close(it);
	return (error);
}

static DBT dbt(const void *bytes, u_int32_t length)
{
	DBT dbt;

	memset(&dbt, 0, sizeof dbt);
	dbt.data = (void *)bytes;
	dbt.size = length;
	return (dbt);
}

int store_bdb_get(struct store_bdb *it, const void *key_bytes, u_int32_t key_length,
    struct store_bdb_value *value)
{
	DBT key = dbt(key_bytes, key_length);
	DBT data = dbt(value->bytes, 0);
	int error;

	data.flags = DB_DBT_REALLOC;
	error = it->db->get(it->db, NULL, &key, &data, 0);
	value->bytes = data.data;
	value->length = error == 0 ? data.size : 0;
	return (error);
}

int store_bdb_begin(struct store_bdb *it, DB_TXN **txn)
{
	return (it->env->txn_begin(it->env, NULL, txn, 0));
}

int store_bdb_put(struct store_bdb *it, DB_TXN *txn, const void *key_bytes, u_int32_t key_length,
    const void *bytes, u_int32_t length)
{
	DBT key = dbt(key_bytes, key_length);
	DBT data = dbt(bytes, length);

	return (it->db->put(it->db, txn, &key, &data, 0));
}

int store_bdb_delete(struct store_bdb *it, DB_TXN *txn, const void *key_bytes,
    u_int32_t key_length)
{
	DBT key = dbt(key_bytes, key_length);

	return (it->db->del(it->db, txn, &key, 0));
}

/* With `deferred` the transaction is lasting only once a later one is, which isn't deferred. */
int store_bdb_commit(DB_TXN *txn, int deferred)
{
	return (txn->commit(txn, deferred ? DB_TXN_NOSYNC : 0));
}

void store_bdb_abort(DB_TXN *txn)
{
	txn->abort(txn);
}

/* Removes so many keys at most, and tells how many. */
int store_bdb_delete_some(struct store_bdb *it, DB_TXN *txn, u_int32_t most, u_int32_t *deleted)
{
	DBT key = dbt(NULL, 0), data = dbt(NULL, 0);
	DBC *cursor;
	int closed, error;

	*deleted = 0;
	key.flags = DB_DBT_REALLOC;
	/* The values aren't wanted: a part without bytes. */
	data.flags = DB_DBT_PARTIAL | DB_DBT_REALLOC;
	if ((error = it->db->cursor(it->db, txn, &cursor, 0)) != 0)
		return (error);
	while (*deleted < most && (error = cursor->get(cursor, &key, &data, DB_NEXT)) == 0 &&
	    (error = cursor->del(cursor, 0)) == 0)
		++*deleted;
	if ((closed = cursor->close(cursor)) != 0 && error == 0)
		error = closed;
	free(key.data);
	free(data.data);
	return (error);
}

int store_bdb_count(struct store_bdb *it, u_int64_t *count)
{
	DB_BTREE_STAT *stat;
	/* Without DB_FAST_STAT, which tells what was so at some time before. */
	int error = it->db->stat(it->db, NULL, &stat, 0);

	if (error == 0) {
		*count = stat->bt_nkeys;
		free(stat);
	}
	return (error);
}

int store_bdb_checkpoint(struct store_bdb *it)
{
	return (it->env->txn_checkpoint(it->env, 0, 0, 0));
}

int store_bdb_is_not_found(int error)
{
	return (error == DB_NOTFOUND);
}

int store_bdb_is_deadlock(int error)
{
	return (error == DB_LOCK_DEADLOCK);
}

const char *store_bdb_error(int error)
{
	return (db_strerror(error));
}
