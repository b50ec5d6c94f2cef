/*
 * A location that greets whoever gives an id:
 *
 *     location /hello {
 *         ngx_hello_module;
 *         hello 1234;
 *     }
 *
 * GET /hello?id=42 then answers with two lines of HTML: who made this, and the
 * text, the id, the URI, and a number of 128 random bits. The module does what
 * the one of Tim Yang's article of March 2009 did, and shares no line with it.
 *
 * Whatever a client sends is bounded and escaped before it is shown, and all
 * memory of an answer is of its request's pool, which lives until it is sent.
 */

#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include <sys/random.h>

/* The study's bound on an id. */
#define ID_LENGTH_MAX  64

#define NUMBER_BYTES   16

/*
 * Random bytes that a worker has in store, asked of the kernel at once, so that
 * not every answer pays a system call for its number. nginx's own ngx_random()
 * won't do: its 31 bits follow from the worker's process id and the time at which
 * it started. OpenSSL's RAND_bytes() would, and needs a library for what the
 * kernel has.
 */
#define STORE_BYTES    (256 * NUMBER_BYTES)


typedef struct {
    /* What `hello` says, escaped for HTML. */
    ngx_str_t  text;
} ngx_http_hello_loc_conf_t;


static ngx_int_t ngx_http_hello_handler(ngx_http_request_t *r);
static char *ngx_http_hello_enable(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
static char *ngx_http_hello_escape(ngx_conf_t *cf, void *post, void *data);
static void *ngx_http_hello_create_loc_conf(ngx_conf_t *cf);
static char *ngx_http_hello_merge_loc_conf(ngx_conf_t *cf, void *parent,
    void *child);
static ngx_int_t ngx_http_hello_init_process(ngx_cycle_t *cycle);


static const ngx_str_t  author = ngx_string("by bakeoff.\n");

static ngx_conf_post_t  ngx_http_hello_text_post = { ngx_http_hello_escape };


static ngx_command_t  ngx_http_hello_commands[] = {

    { ngx_string("ngx_hello_module"),
      NGX_HTTP_LOC_CONF|NGX_CONF_NOARGS,
      ngx_http_hello_enable,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("hello"),
      NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_str_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_hello_loc_conf_t, text),
      &ngx_http_hello_text_post },

      ngx_null_command
};


static ngx_http_module_t  ngx_http_hello_module_ctx = {
    NULL,                                  /* preconfiguration */
    NULL,                                  /* postconfiguration */

    NULL,                                  /* create main configuration */
    NULL,                                  /* init main configuration */

    NULL,                                  /* create server configuration */
    NULL,                                  /* merge server configuration */

    ngx_http_hello_create_loc_conf,        /* create location configuration */
    ngx_http_hello_merge_loc_conf          /* merge location configuration */
};


ngx_module_t  ngx_http_hello_module = {
    NGX_MODULE_V1,
    &ngx_http_hello_module_ctx,            /* module context */
    ngx_http_hello_commands,               /* module directives */
    NGX_HTTP_MODULE,                       /* module type */
    NULL,                                  /* init master */
    NULL,                                  /* init module */
    ngx_http_hello_init_process,           /* init process */
    NULL,                                  /* init thread */
    NULL,                                  /* exit thread */
    NULL,                                  /* exit process */
    NULL,                                  /* exit master */
    NGX_MODULE_V1_PADDING
};


/* A worker is one thread, and has a store of its own: no lock. */
static struct {
    u_char  bytes[STORE_BYTES];
    size_t  left;
} store;


static ngx_int_t
ngx_http_hello_fill_store(ngx_log_t *log)
{
    size_t   have;
    ssize_t  n;

    for (have = 0; have < STORE_BYTES; have += n) {
        n = getrandom(store.bytes + have, STORE_BYTES - have, 0);

        if (n == -1) {
            if (ngx_errno == NGX_EINTR) {
                n = 0;
                continue;
            }

            ngx_log_error(NGX_LOG_ALERT, log, ngx_errno,
                          "getrandom() failed");
            return NGX_ERROR;
        }
    }

    store.left = STORE_BYTES;

    return NGX_OK;
}


/* After the fork: what is filled before it, all workers would share. */
static ngx_int_t
ngx_http_hello_init_process(ngx_cycle_t *cycle)
{
    return ngx_http_hello_fill_store(cycle->log);
}


/*
 * Takes the id from the query. It may be percent-encoded, as a browser might,
 * and is of 1 to 64 letters and digits then, which need no escaping anywhere. The
 * first one counts if there are several.
 */
static ngx_int_t
ngx_http_hello_id(ngx_http_request_t *r, u_char id[ID_LENGTH_MAX],
    size_t *length)
{
    u_char     *p, *end;
    ngx_int_t   ch;
    ngx_str_t   value;

    if (ngx_http_arg(r, (u_char *) "id", 2, &value) != NGX_OK) {
        return NGX_DECLINED;
    }

    p = value.data;
    end = p + value.len;

    for (*length = 0; p < end; (*length)++) {
        if (*length == ID_LENGTH_MAX) {
            return NGX_DECLINED;
        }

        ch = *p++;

        if (ch == '%') {
            if (end - p < 2) {
                return NGX_DECLINED;
            }

            ch = ngx_hextoi(p, 2);
            p += 2;
        }

        if ((ch < '0' || ch > '9')
            && (ch < 'A' || ch > 'Z')
            && (ch < 'a' || ch > 'z'))
        {
            return NGX_DECLINED;
        }

        id[*length] = (u_char) ch;
    }

    return *length == 0 ? NGX_DECLINED : NGX_OK;
}


static ngx_int_t
ngx_http_hello_add_header(ngx_http_request_t *r, const char *key,
    const char *value)
{
    ngx_table_elt_t  *h;

    h = ngx_list_push(&r->headers_out.headers);
    if (h == NULL) {
        return NGX_ERROR;
    }

    h->hash = 1;
    h->key.data = (u_char *) key;
    h->key.len = ngx_strlen(key);
    h->value.data = (u_char *) value;
    h->value.len = ngx_strlen(value);
    h->lowcase_key = NULL;
#if (nginx_version >= 1023000)
    h->next = NULL;
#endif

    return NGX_OK;
}


/* The answer's body, in a buffer that is as long as it has to be. */
static ngx_buf_t *
ngx_http_hello_body(ngx_http_request_t *r, u_char *id, size_t id_length)
{
    size_t                      uri_length, length;
    ngx_buf_t                  *b;
    ngx_http_hello_loc_conf_t  *hlcf;

    hlcf = ngx_http_get_module_loc_conf(r, ngx_http_hello_module);

    if (store.left == 0
        && ngx_http_hello_fill_store(r->connection->log) != NGX_OK)
    {
        return NULL;
    }

    uri_length = r->uri.len
                 + ngx_escape_html(NULL, r->uri.data, r->uri.len);

    length = author.len
             + hlcf->text.len + sizeof(" ") - 1
             + id_length + sizeof(" at ") - 1
             + uri_length + sizeof(": ") - 1
             + 2 * NUMBER_BYTES + sizeof("\n") - 1;

    b = ngx_create_temp_buf(r->pool, length);
    if (b == NULL) {
        return NULL;
    }

    store.left -= NUMBER_BYTES;

    b->last = ngx_cpymem(b->last, author.data, author.len);
    b->last = ngx_cpymem(b->last, hlcf->text.data, hlcf->text.len);
    *b->last++ = ' ';
    b->last = ngx_cpymem(b->last, id, id_length);
    b->last = ngx_cpymem(b->last, " at ", sizeof(" at ") - 1);
    b->last = (u_char *) ngx_escape_html(b->last, r->uri.data, r->uri.len);
    b->last = ngx_cpymem(b->last, ": ", sizeof(": ") - 1);
    b->last = ngx_hex_dump(b->last, store.bytes + store.left, NUMBER_BYTES);
    *b->last++ = '\n';

    /* A sub-request's answer is a part of its parent's. */
    b->last_buf = (r == r->main);
    b->last_in_chain = 1;

    return b;
}


static ngx_int_t
ngx_http_hello_handler(ngx_http_request_t *r)
{
    u_char       id[ID_LENGTH_MAX];
    size_t       id_length;
    ngx_int_t    rc;
    ngx_buf_t   *b;
    ngx_chain_t  out;

    if (!(r->method & (NGX_HTTP_GET|NGX_HTTP_HEAD))) {
        if (ngx_http_hello_add_header(r, "Allow", "GET, HEAD") != NGX_OK) {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }

        return NGX_HTTP_NOT_ALLOWED;
    }

    rc = ngx_http_discard_request_body(r);
    if (rc != NGX_OK) {
        return rc;
    }

    if (ngx_http_hello_id(r, id, &id_length) != NGX_OK) {
        return NGX_HTTP_BAD_REQUEST;
    }

    b = ngx_http_hello_body(r, id, id_length);
    if (b == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (ngx_http_hello_add_header(r, "Cache-Control", "no-cache") != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    r->headers_out.status = NGX_HTTP_OK;
    r->headers_out.content_length_n = b->last - b->pos;
    ngx_str_set(&r->headers_out.content_type, "text/html");
    r->headers_out.content_type_len = r->headers_out.content_type.len;
    r->headers_out.content_type_lowcase = NULL;

    rc = ngx_http_send_header(r);
    if (rc == NGX_ERROR || rc > NGX_OK || r->header_only) {
        return rc;
    }

    out.buf = b;
    out.next = NULL;

    return ngx_http_output_filter(r, &out);
}


static char *
ngx_http_hello_enable(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_core_loc_conf_t  *clcf;

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);
    clcf->handler = ngx_http_hello_handler;

    return NGX_CONF_OK;
}


/* The text is escaped once, here, instead of in every answer. */
static char *
ngx_http_hello_escape(ngx_conf_t *cf, void *post, void *data)
{
    ngx_str_t  *text = data;

    u_char  *escaped;
    size_t   length;

    length = text->len + ngx_escape_html(NULL, text->data, text->len);

    escaped = ngx_pnalloc(cf->pool, length);
    if (escaped == NULL) {
        return NGX_CONF_ERROR;
    }

    ngx_escape_html(escaped, text->data, text->len);

    text->data = escaped;
    text->len = length;

    return NGX_CONF_OK;
}


static void *
ngx_http_hello_create_loc_conf(ngx_conf_t *cf)
{
    /* Zeros: a text that isn't set. */
    return ngx_pcalloc(cf->pool, sizeof(ngx_http_hello_loc_conf_t));
}


static char *
ngx_http_hello_merge_loc_conf(ngx_conf_t *cf, void *parent, void *child)
{
    ngx_http_hello_loc_conf_t  *prev = parent;
    ngx_http_hello_loc_conf_t  *conf = child;

    ngx_conf_merge_str_value(conf->text, prev->text, "hello");

    return NGX_CONF_OK;
}
