//! The tables of the system service.

diesel::table! {
    /// Uploaded files. Rows are never deleted.
    files (id) {
        /// UUID version 7.
        id -> database::IdSql,
        /// `images` or `files`.
        bucket -> Text,
        /// Type of the file, such as `contract`.
        kind -> Text,
        /// Owner. NULL if the uploader acted for no organisation.
        organisation_id -> Nullable<Text>,
        /// File name, 1 to 200 characters.
        name -> Text,
        /// SHA-256 of the content, 64 hexadecimal digits.
        hash -> Text,
        /// Media type.
        content_type -> Text,
        /// Size of the content in bytes, at least 1.
        size -> BigInt,
        /// Uploader.
        user_id -> Text,
        /// Name of the uploader.
        user_name -> Text,
        /// JSON array of the ids of organisations that the file is shared with. `*` stands for all.
        organisations -> database::JsonSql,
        created_at -> database::TimestampSql,
        /// NULL while the file is not archived.
        archived_at -> Nullable<database::TimestampSql>,
        /// Folded name, see `name_key`. NULL or in lower case until the service has filled it in for a file of an older
        /// release.
        name_key -> Nullable<Text>,
    }
}

diesel::table! {
    /// Blobs that files use. The sweep removes others from the blob store. The table is named `contents` since 1.0.
    #[sql_name = "contents"]
    blobs (hash) {
        /// SHA-256 of the content, 64 hexadecimal digits.
        hash -> Text,
        /// Name of the blob in the blob store.
        name -> Text,
        /// When the last file with this content got another one. The blob is about to be removed.
        retired_at -> Nullable<database::TimestampSql>,
    }
}

diesel::table! {
    /// Keys of signed links and of tokens of service accounts. The one with the highest number signs.
    link_keys (number) {
        number -> BigInt,
        /// 32 random bytes.
        secret -> Binary,
        created_at -> database::TimestampSql,
        /// NULL for the key that signs.
        replaced_at -> Nullable<database::TimestampSql>,
    }
}

diesel::table! {
    /// What the files of an owner have. Counted when it is first needed.
    storage_usage (owner) {
        /// The tenant: `organisation ` or `user ` and an id.
        owner -> Text,
        /// Sum of the sizes of the files.
        bytes -> BigInt,
        files -> BigInt,
        /// When the files were counted. Later ones were added to the count.
        counted_at -> database::TimestampSql,
    }
}

diesel::table! {
    /// The service accounts of organisations.
    service_accounts (id) {
        /// UUID version 7. The client id.
        id -> database::IdSql,
        organisation_id -> Text,
        /// The name of the organisation in the token of the member who changed the account last.
        organisation_name -> Nullable<Text>,
        /// 1 to 20, different for each account of an organisation.
        slot -> Integer,
        name -> Text,
        /// JSON array of the names of roles.
        roles -> Text,
        /// JSON array of hashed secrets, the present one first.
        secrets -> Text,
        /// When the account stops getting tokens.
        expires_at -> Nullable<database::TimestampSql>,
        created_at -> database::TimestampSql,
        /// When the account got a token, at most a minute before it got the last one.
        last_used_at -> Nullable<database::TimestampSql>,
    }
}

diesel::allow_tables_to_appear_in_same_query!(files, blobs);
