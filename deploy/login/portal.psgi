# The portal of LemonLDAP::NG under the path of LOGIN_URL, with its static files.
use strict;
use warnings;
use HTTP::Message::PSGI;
use HTTP::Request::Common qw(GET);
use IO::Socket::UNIX;
use Lemonldap::NG::Portal::Main;
use Plack::App::File;
use Plack::Builder;
use Plack::Util;
use URI;

( my $console = $ENV{DROVER_PUBLIC_URL} ) =~ s{/+$}{};
my ($path) = ( $ENV{LOGIN_URL} || "$console/id" ) =~ m{^https?://[^/]+(/.*?)?/*$};
$path ||= '';
my $prefix = $path =~ s{^/}{}r || '/';    # `/`: never at this place
# Passkeys belong to a host. LemonLDAP::NG of Debian 12, which ignores the setting `webauthnRpId`, adds the port. And it
# asks for keys of the older U2F, which browsers refuse over plain HTTP.
require Lemonldap::NG::Portal::Lib::WebAuthn;
{
    no warnings 'redefine';
    my $challenge = \&Lemonldap::NG::Portal::Lib::WebAuthn::generateChallenge;
    *Lemonldap::NG::Portal::Lib::WebAuthn::_build_rp_id       = sub { URI->new( $_[0]->{conf}->{portal} )->host };
    *Lemonldap::NG::Portal::Lib::WebAuthn::generateChallenge = sub {
        my $request = $challenge->(@_);
        delete $request->{extensions} if $request;
        return $request;
    };
}
my $portal = Lemonldap::NG::Portal::Main->run( {} );
# With a wrong configuration, the portal answers all requests with 500.
die "the portal does not start\n" if $portal->( GET('/oauth2/jwks')->to_psgi )->[0] != 200;
my $health = sub {
    my $directory = IO::Socket::UNIX->new("$ENV{LOGIN_RUN}/ldapi");
    return [ $directory ? 200 : 503, [ 'Content-Type' => 'text/plain' ], [ $directory ? "ok\n" : "no directory\n" ] ];
};

builder {
    # For this host only: LemonLDAP::NG would send its cookies to all hosts of the domain.
    enable sub {
        my $app = shift;
        sub {
            Plack::Util::response_cb(
                $app->(@_),
                sub {
                    my $headers = $_[0]->[1];
                    for my $n ( 0 .. $#$headers / 2 ) {
                        next if lc $headers->[ 2 * $n ] ne 'set-cookie';
                        $headers->[ 2 * $n + 1 ] =~ s/; *domain=[^;]*//i;
                        $headers->[ 2 * $n + 1 ] =~ s{; *path=/(?=;|$)}{; path=$path/}i;
                    }
                    # Some templates have paths without the prefix.
                    return if ref $_[0]->[2] ne 'ARRAY' || !grep { defined && m{^text/html} } @$headers;
                    s{((?:src|href|action)=")/(?!/|\Q$prefix\E/)}{$1$path/}g for @{ $_[0]->[2] };
                    return;
                }
            );
        };
    };
    mount '/healthz'     => $health;
    mount "$path/static" => Plack::App::File->new( root => '/usr/share/lemonldap-ng/portal/htdocs/static' )->to_app;
    mount "$path/javascript" => Plack::App::File->new( root => '/usr/share/javascript' )->to_app;
    mount $path || '/' => sub {
        my ($environment) = @_;
        # The proxy writes the address of the client.
        $environment->{REMOTE_ADDR} = $environment->{HTTP_X_FORWARDED_FOR} if $environment->{HTTP_X_FORWARDED_FOR};
        # The portal expects paths without the prefix.
        $environment->{REQUEST_URI} =~ s/^\Q$path\E//;
        # The docs pages have the origin of the provider: browsers send its cookie, which clients must not.
        delete $environment->{HTTP_COOKIE} if $environment->{PATH_INFO} =~ m{^/oauth2/(?:token|userinfo|introspect)\z};
        return $portal->($environment);
    };
};
