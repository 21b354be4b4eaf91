#!/usr/bin/perl
# Writes the configuration of the directory (slapd) and of the portal (LemonLDAP::NG) to LOGIN_RUN. `start` runs it each
# time, so that the environment and the secrets decide alone, and nothing has to be migrated.
use strict;
use warnings;
use JSON;

my ( $run, $data, $secrets ) = @ENV{qw(LOGIN_RUN LOGIN_DATA LOGIN_SECRETS)};
( my $console = $ENV{DROVER_PUBLIC_URL} || die "DROVER_PUBLIC_URL is missing\n" ) =~ s{/+$}{};
( my $issuer  = $ENV{LOGIN_URL} || "$console/id" ) =~ s{/+$}{};
my ($host) = $issuer =~ m{^https?://([^/:]+)} or die "LOGIN_URL must be a URL\n";

sub slurp {
    open my $file, '<', $_[0] or die "cannot read $_[0]: $!\n";
    local $/;
    return <$file>;
}

sub secret {
    my $text = slurp("$secrets/$_[0]");
    chomp $text;
    return $text;
}

sub save {
    my ( $path, $text ) = @_;
    umask 077;
    open my $file, '>', $path or die "cannot write $path: $!\n";
    print $file $text;
    close $file or die "cannot write $path: $!\n";
}

my $password   = secret('login-directory-password');
my $public_key = `openssl rsa -in $secrets/login-key -pubout 2>/dev/null` or die "login-key is no RSA key\n";
my $key_id     = substr `printf %s '$public_key' | sha256sum`, 0, 16;

save( "$run/slapd.conf", <<"END" );
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
pidfile $run/slapd.pid
modulepath /usr/lib/ldap
moduleload back_mdb
moduleload ppolicy
moduleload argon2
password-hash {ARGON2}
sizelimit unlimited
database mdb
maxsize 1073741824
suffix "dc=drover"
rootdn "cn=portal,dc=drover"
rootpw $password
directory "$data/directory"
index objectClass,uid,mail eq
access to * by anonymous auth by * none
overlay ppolicy
ppolicy_default "cn=policy,dc=drover"
ppolicy_hash_cleartext
END

# The claims of access tokens, and the attributes of the directory. `always`: an array also of one role.
my %claims  = ( name => 'name', org => 'org', orgName => 'orgName', roles => 'roles;string;always' );
my %options = (
    BypassConsent         => 1,
    RequirePKCE           => 1,
    IDTokenSignAlg        => 'RS256',
    AccessTokenSignAlg    => 'RS256',
    AccessTokenJWT        => 1,
    AccessTokenClaims     => 1,
    AccessTokenExpiration => $ENV{LOGIN_TOKEN_SECONDS} || 600,
    UserIDAttr            => 'uid',
);
my %clients = (
    console => {
        ClientID               => 'drover-console',
        ClientSecret           => secret('console-client-secret'),
        RedirectUris           => "$console/login/callback",
        PostLogoutRedirectUris => "$console/logged-out",
        LogoutBypassConfirm    => 1,
        RefreshToken           => 1,
    },
    docs => {
        ClientID     => 'drover-docs',
        Public       => 1,
        RedirectUris =>
          join( ' ', map { "$console/$_/docs/oauth2-redirect.html" } qw(system logistics livestock) ),
    },
);
my %parties;
for my $client ( keys %clients ) {
    my %all = ( %options, %{ $clients{$client} } );
    $parties{oidcRPMetaDataOptions}->{$client} = { map { ( "oidcRPMetaDataOptions$_" => $all{$_} ) } keys %all };
    $parties{oidcRPMetaDataExportedVars}->{$client}      = \%claims;
    # With the scope `profile`.
    $parties{oidcRPMetaDataOptionsExtraClaims}->{$client} = { profile => join ' ', sort keys %claims };
}

# Sessions are files. Their names are random 256-bit ids.
my $session_storage = 'Apache::Session::File';
my $folders = sub { { Directory => "$data/$_[0]", LockDirectory => "$run/lock-$_[0]",
    generateModule => 'Lemonldap::NG::Common::Apache::Session::Generate::SHA256' } };
my %configuration = (
    cfgNum                   => 1,
    cfgDate                  => time,
    locationRules            => {},
    portal                   => "$issuer/",
    domain                   => $host,
    securedCookie            => $issuer =~ /^https:/ ? 1 : 0,
    httpOnly                 => 1,
    sameSite                 => 'Lax',
    cookieName               => 'drover-id',
    timeout                  => 12 * 3600,
    formTimeout              => 1800,
    issuersTimeout           => 1800,
    globalStorage            => $session_storage,
    globalStorageOptions     => $folders->('sessions'),
    persistentStorage        => $session_storage,
    persistentStorageOptions => $folders->('persistent'),
    # No copies in memory: a session that `people leave` deletes ends at once.
    localSessionStorage      => '',
    tokenUseGlobalStorage    => 1,
    key                      => secret('login-secret'),
    whatToTrace              => 'uid',

    authentication  => 'LDAP',
    userDB          => 'Same',
    passwordDB      => 'LDAP',
    registerDB      => 'Null',
    ldapServer      => 'ldapi://' . ( "$run/ldapi" =~ s{/}{%2F}gr ),
    ldapBase        => 'ou=people,dc=drover',
    managerDn       => 'cn=portal,dc=drover',
    managerPassword => $password,
    AuthLDAPFilter  => '(&(|(uid=$user)(mail=$user))(objectClass=inetOrgPerson))',
    ldapExportedVars => {
        uid     => 'uid',
        mail    => 'mail',
        name    => 'displayName',
        org     => 'departmentNumber',
        orgName => 'o',
        roles   => 'employeeType',
    },
    ldapPpolicyControl    => 1,
    exportedVars          => {},
    passwordPolicyMinSize => 12,

    # 5 failures in a row lock the account for 15 minutes (ppolicy); LemonLDAP::NG itself counts nothing.
    portalDisplayRegister         => 0,
    portalDisplayResetPassword    => 0,
    portalDisplayAppslist         => 0,
    portalDisplayGeneratePassword => 0,
    portalCheckLogins             => 0,
    portalMainLogo                => '',
    portalSkinBackground          => '',
    customPlugins                 => 'Drover::Invitation,Drover::Audience',
    customPluginsParams           => { console => "$console/" },

    captcha                       => 'Drover::NoCaptcha',
    captcha_mail_enabled          => 0,
    captcha_login_enabled         => 0,
    captcha_register_enabled      => 0,

    # A second step with a passkey or security key, for people who add one.
    webauthn2fActivation       => 1,
    webauthn2fSelfRegistration => 1,
    webauthn2fUserVerification => 'preferred',
    webauthnRpId               => $host,
    webauthnRpName             => 'Drover',
    webauthnDisplayNameAttr    => 'name',

    issuerDBOpenIDConnectActivation       => 1,
    oidcServiceMetaDataIssuer             => $issuer,
    oidcServicePrivateKeySig              => slurp("$secrets/login-key"),
    oidcServicePublicKeySig               => $public_key,
    oidcServiceKeyIdSig                   => $key_id,
    oidcServiceAllowOnlyDeclaredScopes    => 1,
    oidcServiceAuthorizationCodeExpiration => 60,
    corsAllow_Origin                      => $console =~ s{^(https?://[^/]+).*}{$1}r,
    corsAllow_Credentials                 => '',
    %parties,
);
mkdir "$run/configuration";
save( "$run/configuration/lmConf-1.json", JSON->new->canonical->pretty->encode( \%configuration ) );

my ($path) = $issuer =~ m{^https?://[^/]+(.*)};
save( "$run/lemonldap-ng.ini", <<"END" );
[all]
logger = Lemonldap::NG::Common::Logger::Std
userLogger = Lemonldap::NG::Common::Logger::Std
logLevel = ${\( $ENV{LOGIN_LOG_LEVEL} || "warn" )}
checkTime = 3600
[configuration]
type = File
dirName = $run/configuration
localStorage = Cache::FileCache
localStorageOptions = { 'namespace' => 'configuration', 'default_expires_in' => 600, 'directory_umask' => 63, 'cache_root' => '$run/cache', 'cache_depth' => 3 }
[portal]
staticPrefix = $path/static
templateDir = /usr/share/lemonldap-ng/portal/templates
languages = en
msg_en_authPortal = Drover: log in
END
